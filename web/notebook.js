// notebook.js -- a notebook: cells that share the variables of one context, with their outputs, as in Jupyter.
//
// The sandbox is made with the first run. It stays while the user visits other pages, and is removed with the tab.
// #/notebook/SANDBOX/CONTEXT uses a context that exists. Files are those of Jupyter (.ipynb, nbformat 4).
import {api, append, badge, button, confirm, download, events, h, problem, replace, spinner, stream, toast, toastError, visibleText} from "./app.js";
import {editor} from "./editor.js";
import {languageOf} from "./highlight.js";
import {sandboxPath, styles} from "./live.js";
import {OutputView} from "./output.js";
import {ResultsView} from "./results.js";
import {statusWords} from "./words.js";

export const keep = true;

const DRAFT = "cella.notebook";
const TTL_MS = 60 * 60 * 1000;
const FILE_MAX = 32 << 20, CELLS_MAX = 500;
const textOf = (source) => Array.isArray(source) ? source.join("") : String(source ?? "");

/* ---- what stays while another page is shown ---- */
const fresh = () => ({cells: null, runtime: "python3", place: null, own: true, counter: 0}); // place: {sandbox, context}
const kept = fresh();
function discard() {
    if (kept.place && kept.own) api(sandboxPath(kept.place.sandbox), {method: "DELETE", keepalive: true, retries: 0}).catch(() => {});
    kept.place = null;
}
events.addEventListener("sign-in", () => Object.assign(kept, fresh()));
addEventListener("pagehide", discard);

function loadDraft() {
    try {
        const {runtime, cells} = JSON.parse(sessionStorage.getItem(DRAFT));
        return {runtime: String(runtime), cells: cells.map(({type, source}) => ({type: type === "markdown" ? "markdown" : "code", source: String(source), outputs: []}))};
    } catch {
        return {runtime: "python3", cells: [{type: "code", source: "", outputs: []}]};
    }
}

export async function mount(root, {path, signal}) {
    const [, runtimes] = await Promise.all([styles("pages.css"), api("/v1/runtimes", {signal}).catch(() => ({runtimes: []}))]);
    if (kept.cells === null) Object.assign(kept, loadDraft());
    if (path.length === 2) {
        const about = await api(sandboxPath(path[0], `/contexts/${encodeURIComponent(path[1])}`), {signal});
        if (kept.place?.context !== path[1]) discard();
        Object.assign(kept, {place: {sandbox: path[0], context: path[1]}, own: false, runtime: about.runtime ?? kept.runtime});
    }
    const names = [...new Set(runtimes.runtimes.filter(({name, image}) => image === "host" && /^(python|node|bash)/.test(name)).map(({name}) => name))];
    const notebook = new Notebook(root, names.includes(kept.runtime) ? names : [kept.runtime, ...names]);
    const leave = () => notebook.close();
    return leave;
}

/* ---- one cell ---- */
class Cell {
    constructor(notebook, {type = "code", source = "", outputs = [], number = null}) {
        Object.assign(this, {notebook, type, number, outputs: []});
        this.count = h("span", {class: "cell-count mono small muted"});
        this.hold = h("div", {class: "cell-hold"});
        this.output = new OutputView({label: "Output of the cell"});
        this.results = new ResultsView();
        this.said = h("div", {class: "cell-said", role: "status"});
        this.element = h("div", {class: "card cell", role: "group", tabindex: "0", "aria-label": "Cell", onkeydown: (event) => notebook.key(this, event), onfocusin: () => notebook.select(this)},
            h("div", {class: "cell-side"}, this.count, button({icon: "play", kind: "quiet", title: "Run this cell (Shift+Enter)", onclick: () => notebook.run([this])})),
            h("div", {class: "cell-main"}, this.hold, this.output.element, this.results.element, this.said));
        this.write = editor({value: source, label: "Code of the cell", language: this.language, onChange: () => notebook.save()});
        append(this.hold, this.write);
        for (const output of outputs) this.show(output);
        this.refresh();
    }

    get source() { return this.write.value; }
    get language() { return this.type === "code" ? languageOf(kept.runtime) : ""; }

    setType(type) {
        this.type = type;
        this.write.language = this.language;
        if (type === "markdown") this.clear();
        this.refresh();
        this.notebook.save();
    }

    refresh(running = false) {
        this.element.classList.toggle("cell-markdown", this.type === "markdown");
        this.count.textContent = this.type === "markdown" ? "Text" : running ? "[*]" : `[${this.number ?? " "}]`;
        this.output.element.hidden = this.output.isEmpty;
        this.element.setAttribute("aria-busy", String(running));
    }

    clear() {
        this.outputs = [];
        this.output.clear();
        this.results.clear();
        replace(this.said);
        this.refresh();
    }

    // Shows an output in the form of .ipynb, and keeps it for the file.
    show(output) {
        this.outputs.push(output);
        if (output.output_type === "stream") this.output.append(output.name === "stderr" ? "stderr" : "stdout", textOf(output.text));
        else if (output.output_type === "error") this.output.append("stderr", output.traceback?.length > 0 ? `${output.traceback.join("\n")}\n` : `${output.ename}: ${output.evalue}\n`);
        else for (const [mime, data] of Object.entries(output.data ?? {})) this.results.add({mime, data: Array.isArray(data) ? data.join("") : data, main: output.output_type === "execute_result", value: this.outputs.length});
        this.output.flush();
        this.refresh();
    }

    // An event of a run.
    hear(event, data) {
        if (event === "stdout" || event === "stderr") {
            const last = this.outputs.at(-1);
            if (last?.output_type === "stream" && last.name === event) last.text += data.text;
            else this.outputs.push({output_type: "stream", name: event, text: data.text});
            this.output.append(event, data.text);
            this.output.element.hidden = false;
        } else if (event === "result") {
            const same = this.outputs.find((o) => o.value === data.value && o.data);
            if (same) same.data[data.mime] = data.data;
            else this.outputs.push({output_type: data.main ? "execute_result" : "display_data", value: data.value, data: {[data.mime]: data.data}});
            this.results.add(data);
        }
    }

    async run(signal) {
        if (this.type === "markdown" || this.source.trim() === "") return true;
        this.clear();
        this.refresh(true);
        let result = null, failure = null;
        try {
            const {sandbox, context} = await this.notebook.place(signal);
            await stream(sandboxPath(sandbox, `/contexts/${context}/run`), {method: "POST", body: {code: this.source, rich: true}, signal, onEvent: ({event, data}) => {
                if (event === "exit") result = data;
                else if (event === "error") failure = data.error;
                else this.hear(event, data);
            }});
            if (failure) throw Object.assign(new Error(failure.message), failure);
        } catch (error) {
            if (error.status === 404) this.notebook.lost();
            if (error.kind !== "aborted") replace(this.said, problem(error));
        }
        this.output.flush();
        if (result) {
            this.number = ++kept.counter;
            const words = statusWords(result);
            if (result.status !== "exited" || result.error) replace(this.said, badge(result.error ? visibleText(result.error.name) : words.label, "warn"), result.hint && h("span", {class: "small"}, visibleText(result.hint)));
        }
        this.refresh();
        return result !== null && result.status === "exited" && !result.error;
    }

    // In the form of nbformat 4.5.
    toFile(id) {
        const source = this.source.split(/(?<=\n)/);
        if (this.type === "markdown") return {cell_type: "markdown", id, metadata: {}, source};
        const outputs = this.outputs.map(({value, ...output}) => output.data ? {...output, metadata: {}, ...output.output_type === "execute_result" && {execution_count: this.number}} : output);
        return {cell_type: "code", id, metadata: {}, execution_count: this.number, source, outputs};
    }

    edit() { this.write.focus(); }
    close() { this.results.clear(); }
}

/* ---- the notebook ---- */
class Notebook {
    constructor(root, names) {
        this.list = h("div", {class: "cells"});
        this.state = h("span", {class: "row", role: "status"});
        this.running = null;
        this.pressed = ""; // the last key of a double one: dd, ii, 00
        this.removed = [];
        const pick = h("input", {type: "file", accept: ".ipynb,application/json", hidden: true, "aria-label": "Notebook to open", onchange: () => { this.open(pick.files[0]).catch(toastError); pick.value = ""; }});
        const runtime = h("select", {"aria-label": "Runtime", onchange: async () => {
            const chosen = runtime.value;
            if (kept.place && !await confirm({title: "Use another runtime?", text: "The variables of this notebook are lost.", action: "Use it"})) return void (runtime.value = kept.runtime);
            discard();
            kept.runtime = chosen;
            kept.own = true;
            for (const cell of this.cells) cell.write.language = cell.language;
            this.save();
        }}, names.map((name) => h("option", {value: name}, visibleText(name))));
        runtime.value = kept.runtime;
        append(root, h("div", {class: "page-head"}, h("div", {}, h("h1", {}, "Notebook"), h("p", {}, "Cells share their variables. The sandbox is removed when this tab is closed.")), this.state),
            h("div", {class: "row row-wrap notebook-bar"}, runtime, button({label: "Run all", icon: "play", kind: "primary", onclick: () => this.run(this.cells)}),
                button({label: "Interrupt", icon: "stop", onclick: () => this.interrupt()}), button({label: "Restart", icon: "refresh", onclick: () => this.restart()}),
                button({label: "Add a cell", icon: "plus", onclick: () => this.insert(this.cells.length).edit()}), button({label: "Open", icon: "upload", onclick: () => pick.click()}), button({label: "Save as .ipynb", icon: "download", onclick: () => this.saveFile()}), pick),
            this.list, h("details", {class: "muted small"}, h("summary", {}, "Keys"), h("p", {}, "Shift+Enter runs and goes on, Ctrl+Enter runs, Alt+Enter runs and adds a cell. Escape leaves the code; then: Enter edits, ↑ ↓ or k j select, a and b add above and below, d d removes, z puts back, m makes text, y makes code, i i interrupts, 0 0 restarts.")));
        this.cells = [];
        for (const about of kept.cells) this.insert(this.cells.length, about, false);
        if (this.cells.length === 0) this.insert(0);
        this.selected = this.cells[0];
    }

    close() {
        this.running?.abort();
        this.save();
        this.closed = true; // a run that ends later changes nothing: another notebook may be shown
        for (const cell of this.cells) cell.close();
    }

    save() {
        if (this.closed) return;
        kept.cells = this.cells.map(({type, source, outputs, number}) => ({type, source, outputs, number}));
        try { sessionStorage.setItem(DRAFT, JSON.stringify({runtime: kept.runtime, cells: kept.cells.map(({type, source}) => ({type, source}))})); } catch { /* then it is not kept after a reload */ }
    }

    insert(at, about = {}, save = true) {
        const cell = new Cell(this, about);
        this.list.insertBefore(cell.element, this.cells[at]?.element ?? null);
        this.cells.splice(at, 0, cell);
        if (save) this.save();
        return cell;
    }

    remove(cell) {
        const at = this.cells.indexOf(cell);
        this.removed.push([at, {type: cell.type, source: cell.source, outputs: cell.outputs, number: cell.number}]);
        this.cells.splice(at, 1);
        cell.element.remove();
        cell.close();
        if (this.cells.length === 0) this.insert(0);
        this.focus(Math.min(at, this.cells.length - 1));
        this.save();
    }

    select(cell) {
        this.selected = cell;
        for (const other of this.cells) other.element.classList.toggle("cell-selected", other === cell);
    }

    focus(at) { this.cells[Math.min(Math.max(at, 0), this.cells.length - 1)].element.focus(); }

    /* ---- running ---- */
    async place(signal) {
        if (kept.place) return kept.place;
        const {id} = await api("/v1/sandboxes", {method: "POST", body: {ttl_ms: TTL_MS, persistent: false, metadata: {for: "notebook"}}, signal});
        kept.own = true;
        kept.place = {sandbox: id, context: null};
        try {
            kept.place.context = (await api(sandboxPath(id, "/contexts"), {method: "POST", body: {runtime: kept.runtime}, signal})).id;
        } catch (error) {
            discard();
            throw error;
        }
        return kept.place;
    }

    lost() {
        kept.place = null;
        toast("The sandbox of this notebook is gone. The next run makes another one, without the earlier variables.", {kind: "warn"});
    }

    // One after the other, until one fails.
    async run(cells) {
        if (this.running) return void toast("A cell is running", {kind: "info", ms: 2000});
        this.running = new AbortController();
        replace(this.state, spinner("Running"), badge("Running", "info"));
        for (const cell of [...cells]) if (!await cell.run(this.running.signal)) break;
        this.running = null;
        replace(this.state, badge("Idle"));
        this.save();
    }

    async interrupt() {
        if (!kept.place?.context) return;
        await api(sandboxPath(kept.place.sandbox, `/contexts/${kept.place.context}/interrupt`), {method: "POST", retries: 0}).catch(toastError);
    }

    async restart() {
        if (!kept.place?.context) return;
        if (!await confirm({title: "Restart the interpreter?", text: "Its variables are lost; files stay.", action: "Restart"})) return;
        try {
            await api(sandboxPath(kept.place.sandbox, `/contexts/${kept.place.context}/restart`), {method: "POST"});
            kept.counter = 0;
            toast("Restarted", {kind: "ok", ms: 2000});
        } catch (error) {
            toastError(error);
        }
    }

    /* ---- files ---- */
    saveFile() {
        const language = languageOf(kept.runtime) || kept.runtime;
        const file = {nbformat: 4, nbformat_minor: 5, metadata: {kernelspec: {name: kept.runtime, display_name: kept.runtime, language}, language_info: {name: language}},
            cells: this.cells.map((cell, i) => cell.toFile(`cell-${i + 1}`))};
        download(new Blob([JSON.stringify(file, null, 1)]), "notebook.ipynb");
    }

    // The file is untrusted: its texts are shown as text, its outputs like those of code.
    async open(file) {
        if (!file) return;
        const wrong = (why) => { throw Object.assign(new Error(`This notebook cannot be opened: ${why}.`), {hint: ""}); };
        if (file.size > FILE_MAX) wrong("it has more than 32 MiB");
        let document = null;
        try { document = JSON.parse(await file.text()); } catch { wrong("it is not JSON"); }
        if (document?.nbformat !== 4 || !Array.isArray(document.cells)) wrong("it is not in version 4 of the format");
        const cells = document.cells.slice(0, CELLS_MAX).map((cell) => ({type: cell?.cell_type === "code" ? "code" : "markdown", source: textOf(cell?.source),
            number: Number.isInteger(cell?.execution_count) ? cell.execution_count : null, outputs: Array.isArray(cell?.outputs) ? cell.outputs.filter((o) => typeof o?.output_type === "string").slice(0, 200) : []}));
        for (const cell of this.cells) { cell.element.remove(); cell.close(); }
        this.cells = [];
        for (const about of cells.length > 0 ? cells : [{}]) this.insert(this.cells.length, about, false);
        this.save();
        if (document.cells.length > CELLS_MAX) toast(`Only the first ${CELLS_MAX} cells were opened`, {kind: "warn"});
        this.focus(0);
    }

    /* ---- the keyboard, as in Jupyter ---- */
    key(cell, event) {
        const at = this.cells.indexOf(cell), editing = event.target.classList.contains("editor-input");
        if (event.key === "Enter" && (event.shiftKey || event.ctrlKey || event.metaKey || event.altKey)) {
            event.preventDefault();
            event.stopPropagation();
            this.run([cell]);
            if (event.altKey) this.insert(at + 1).edit();
            else if (event.shiftKey && at === this.cells.length - 1) this.insert(at + 1).edit();
            else if (event.shiftKey) this.focus(at + 1);
            return;
        }
        if (editing && event.key === "Escape") return void cell.element.focus();
        if (event.target !== cell.element || event.ctrlKey || event.metaKey || event.altKey) return;
        const twice = this.pressed === event.key;
        this.pressed = twice ? "" : event.key;
        const does = {
            Enter: () => cell.edit(), ArrowUp: () => this.focus(at - 1), k: () => this.focus(at - 1), ArrowDown: () => this.focus(at + 1), j: () => this.focus(at + 1),
            a: () => { this.insert(at); this.focus(at); }, b: () => { this.insert(at + 1); this.focus(at + 1); }, m: () => cell.setType("markdown"), y: () => cell.setType("code"),
            z: () => { const [place, about] = this.removed.pop() ?? []; if (about) { this.insert(Math.min(place, this.cells.length), about); this.focus(place); } },
            d: () => { if (twice) this.remove(cell); }, i: () => { if (twice) this.interrupt(); }, 0: () => { if (twice) this.restart(); },
        }[event.key];
        if (!does) return;
        event.preventDefault();
        does();
    }
}
