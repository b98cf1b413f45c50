// try.js -- the first page: write code, run it, see the result.
import {ApiError, api, append, badge, button, bytes, can, copyText, count, download, duration, empty, h, icon, notice, problem, replace, segmented,
    spinner, toastError, visibleText} from "./app.js";
import {appendVisible} from "./widgets.js";
import {editor} from "./editor.js";
import {LANGUAGES, snippetOf} from "./examples.js";
import {languageOf} from "./highlight.js";
import {RunOptions, languageOfCode} from "./options.js";
import {OutputView} from "./output.js";
import {ResultsView} from "./results.js";
import {Runner, isCache} from "./runner.js";
import {statusWords, violationTitle, violationWords} from "./words.js";

export const keep = true; // keep code and results while the daemon is unreachable

const DRAFT = "cella.try";

function loadDraft() {
    try { return JSON.parse(sessionStorage.getItem(DRAFT)) ?? {}; } catch { return {}; }
}

export function mount(root, {query, signal}) {
    const draft = loadDraft();
    const save = () => { try { sessionStorage.setItem(DRAFT, JSON.stringify(draft)); } catch { /* then the draft is not kept */ } };
    const language = () => LANGUAGES.find((l) => l.id === draft.language) ?? LANGUAGES[0];
    const runtime = () => draft.runtime?.[language().id] ?? language().runtime ?? "";
    const place = () => language().runtime ? language().id : runtime(); // key of the draft
    const code = () => draft.code?.[place()] ?? language().examples[0]?.[1] ?? snippetOf(runtime());
    const keepDraft = (text) => {
        draft.code = {...draft.code, [place()]: text};
        save();
        clearTimeout(guessing);
        guessing = setTimeout(guess, 400);
    };
    let guessing = null, dismissed = null;
    const write = editor({label: "Code", onRun: toggle, onChange: keepDraft});
    const runner = new Runner();
    const options = new RunOptions({draft, save});
    const shown = new Shown(runner, options);
    const hint = h("div", {class: "guess", role: "status"});
    let running = null; // {abort, id}
    let known = []; // runtimes: {name, image}

    const languages = segmented({label: "Language", value: language().id, options: LANGUAGES.map((l) => ({value: l.id, label: l.label})), onchange: (id) => {
        draft.language = id;
        save();
        chooseLanguage();
    }});
    const runtimes = h("select", {"aria-label": "Runtime", hidden: true, onchange: () => {
        draft.runtime = {...draft.runtime, [language().id]: runtimes.value};
        save();
        chooseLanguage();
    }});
    const examples = h("select", {"aria-label": "Examples", onchange: () => {
        const chosen = language().examples[Number(examples.value)];
        examples.value = "";
        if (!chosen) return;
        write.value = chosen[1];
        keepDraft(chosen[1]);
        write.focus();
    }});
    const images = h("select", {"aria-label": "Image", hidden: true, onchange: () => {
        draft.image = images.value;
        save();
        chooseLanguage();
    }});
    const keepBox = h("input", {type: "checkbox", id: "keep", checked: draft.keep === true, onchange: () => { draft.keep = keepBox.checked; save(); }});
    const bar = h("div", {class: "try-bar"}), foot = h("div", {class: "try-bar try-foot"});
    const runButton = h("button", {type: "button", class: "button button-primary run", onclick: toggle});

    function chooseLanguage() {
        const names = [...new Set(known.filter(({name, image}) => image === (images.value || "host") && language().runtimes.test(name)).map(({name}) => name))];
        if (names.length > 0 && !names.includes(runtime())) draft.runtime = {...draft.runtime, [language().id]: names.includes(language().runtime) ? language().runtime : names[0]};
        replace(runtimes, names.map((name) => h("option", {value: name, selected: name === runtime()}, visibleText(name))));
        runtimes.hidden = names.length < 2 && language().runtime !== null;
        if (language().runtime === null) bar.append(runtimes); // then the runtime takes the place of the language
        else foot.prepend(runtimes);
        write.language = languageOf(runtime());
        if (write.value !== code()) write.value = code();
        replace(examples, h("option", {value: ""}, "Examples"), language().examples.map(([name], i) => h("option", {value: i}, name)));
        examples.hidden = language().examples.length === 0;
    }

    // Offers another language if the code is clearly written in it; never switches by itself.
    function guess() {
        const found = languageOfCode(write.value), other = found !== language().id && LANGUAGES.find((l) => l.id === found);
        if (!other || language().runtime === null || dismissed === found) return void replace(hint);
        replace(hint, notice("info", `This looks like ${other.label}.`), button({label: `Use ${other.label}`, onclick: () => {
            const text = write.value;
            draft.code = {...draft.code, [place()]: undefined};
            draft.language = languages.value = other.id;
            draft.code = {...draft.code, [place()]: text};
            save();
            replace(hint);
            chooseLanguage();
            write.focus();
        }}), button({icon: "close", kind: "quiet", title: "Keep the language", onclick: () => { dismissed = found; replace(hint); write.focus(); }}));
    }

    // Loads the choices of runtimes and images, and shows them if there is more than one.
    async function loadChoices() {
        const [has, made] = await Promise.all(["/v1/runtimes", "/v1/images"].map((path) => api(path, {signal}).catch(() => ({}))));
        const names = (made.images ?? []).map((image) => image.name ?? image.names?.[0]).filter((name) => typeof name === "string" && name !== "host");
        known = has.runtimes ?? [];
        replace(images, ["host", ...names].map((name) => h("option", {value: name, selected: name === draft.image}, visibleText(name))));
        images.hidden = names.length === 0;
        if (!running) chooseLanguage();
    }

    function showRunning() {
        replace(runButton, icon(running ? "stop" : "play", 16), h("span", {}, running ? "Stop" : "Run"), h("kbd", {class: "wide-only"}, "Ctrl ⏎"));
        runButton.classList.toggle("button-stop", running !== null);
    }

    async function stop() {
        const {id, abort} = running;
        if (!id) return abort.abort();
        // A stopped execution still reports its result.
        await api(`/v1/executions/${id}`, {method: "DELETE", retries: 0}).catch(() => abort.abort());
    }

    function toggle() {
        if (running) stop();
        else start();
    }

    async function start() {
        const chosenOptions = options.read();
        if (!chosenOptions) return;
        const abort = new AbortController();
        running = {abort, id: null};
        showRunning();
        const chosen = runtime();
        shown.begin();
        try {
            const run = await runner.run({runtime: chosen, code: write.value, image: images.value || undefined, keep: keepBox.checked, ...chosenOptions, signal: abort.signal, on: {
                phase: (name) => shown.phase(name),
                busy: (seconds) => shown.busy(seconds),
                event: (name, data) => {
                    if (name === "start") running.id = data.id;
                    shown.event(name, data);
                },
            }});
            if (abort.signal.aborted) shown.stopped();
            else shown.end(run, chosen);
        } catch (error) {
            if (error.kind === "aborted") shown.stopped();
            else shown.fail(error);
            if (!(error instanceof ApiError) && !error.kind) console.error(error);
        }
        running = null;
        showRunning();
    }

    showRunning();
    append(root,
        h("div", {class: "page-head"}, h("div", {}, h("h1", {}, "Try it"),
            h("p", {}, "Code runs in a new sandbox on this machine, which is deleted afterwards."))),
        h("div", {class: "try"},
            h("section", {class: "card try-code", "aria-label": "Code"},
                bar, hint, write, options.element, foot),
            shown.element));
    append(bar, languages, examples);
    append(foot, images, can("sandbox.manage") && h("label", {class: "check", for: "keep", title: "Use the same sandbox again: variables, files and packages are kept between runs"},
        keepBox, "Keep it between runs"), h("span", {class: "grow"}), runButton);
    options.acceptDrops(root.querySelector(".try-code"));
    chooseLanguage();
    loadChoices();
    addEventListener("pagehide", leaving);
    if (query.get("focus") !== null) write.focus();

    function leaving() { runner.discard(); }
    return () => {
        clearTimeout(guessing);
        clearInterval(shown.clock);
        removeEventListener("pagehide", leaving);
        running?.abort.abort();
        runner.discard();
        shown.results.clear();
    };
}

/* ---- the result ---- */
class Shown {
    constructor(runner, options) {
        this.runner = runner;
        this.options = options;
        this.output = new OutputView({label: "Output of the code", placeholder: empty({icon: "terminal", title: "Nothing has run yet",
            text: "Press Run. Output, results and files of the code appear here."})});
        this.results = new ResultsView();
        this.head = h("div", {class: "row row-wrap"});
        this.facts = h("div", {class: "facts"});
        this.after = h("div", {class: "stack", "aria-live": "polite"});
        this.element = h("section", {class: "card try-shown", "aria-label": "Result"},
            h("div", {class: "try-bar"}, h("h2", {}, "Output"), h("span", {class: "grow"}), this.head), this.output.element, this.results.element, this.after, this.facts);
    }

    begin() {
        this.violations = [];
        this.output.element.hidden = false;
        this.output.clear();
        this.output.placeholder?.remove();
        this.results.clear();
        replace(this.after);
        replace(this.facts);
        this.id = null;
        this.begun = performance.now();
        this.working("Running");
        clearInterval(this.clock);
        this.clock = setInterval(() => { this.elapsed.textContent = duration(Math.round((performance.now() - this.begun) / 100) * 100); }, 100);
        this.element.setAttribute("aria-busy", "true");
    }

    working(what) {
        this.elapsed = h("span", {class: "muted small number elapsed"});
        replace(this.head, this.elapsed, spinner(what), badge(what, "info"));
    }

    phase(name) {
        if (name === "packages") this.working("Installing packages");
        else if (name === "files") this.working("Sending files");
        else if (name === "code") this.working("Running");
        else if (name === "gone") append(this.after, notice("info", "The kept sandbox no longer exists. This run used a new one, without the earlier variables and files."));
    }

    busy(seconds) {
        replace(this.head, spinner("Waiting"), badge(`No room: trying again in ${Math.ceil(seconds)} s`, "warn"));
    }

    event(name, data) {
        if (name === "start") this.id = data.id;
        else if (name === "stdout" || name === "stderr") this.output.append(name, data.text);
        else if (name === "result") this.results.add(data);
        else if (name === "violation") this.violations.push(data);
    }

    finish(...head) {
        this.output.flush();
        clearInterval(this.clock);
        this.element.removeAttribute("aria-busy");
        replace(this.head, head);
    }

    stopped() {
        this.finish(badge("Stopped", "warn"));
    }

    fail(error) {
        this.finish(badge(error.kind === "scan_refused" ? "Refused" : "Failed", "bad"));
        append(this.after, problem(error, this.options.fixFor(`${error.message} ${error.hint ?? ""}`)));
    }

    end({result, times, files, fresh, box}, runtime) {
        const {body} = this.output, atEnd = body.scrollHeight - body.scrollTop - body.clientHeight < 40;
        const words = statusWords(result);
        const thrown = result.status === "exited" && result.error;
        this.finish(badge(thrown ? visibleText(result.error.name) : words.label, thrown ? "warn" : words.tone));
        append(this.after,
            result.status !== "exited" && notice(words.tone === "bad" ? "bad" : "warn", words.text),
            result.hint && h("div", {class: "row row-wrap small fix"}, h("p", {class: "hint grow"}, h("strong", {}, "Hint: "), visibleText(result.hint)), this.options.fixFor(`${result.status} ${result.hint}`)),
            this.violationsView(result.violations ?? this.violations), this.scanView(result.scan), this.filesView(files, result.files, box));
        this.output.element.hidden = this.output.isEmpty && !this.results.isEmpty; // no empty strip above a picture
        if (this.output.isEmpty && this.results.isEmpty) this.output.body.append(h("p", {class: "muted small"}, "It printed nothing."));
        replace(this.facts, this.factsView(result), this.id && h("div", {class: "row row-wrap"}, h("a", {class: "button", href: `#/executions/${this.id}`}, icon("list", 16), "Show in the log"),
            button({label: "Copy link", icon: "copy", title: "Copies the address of this execution in the log: for everyone whose key may read it", onclick: () => copyText(`${location.origin}${location.pathname}#/executions/${this.id}`)})));
        const timing = h("div", {class: "timing"});
        append(this.facts, timing);
        this.timesView(timing, times, fresh, null, runtime, box);
        if (atEnd) body.scrollTop = body.scrollHeight; // what was added below has made it smaller
    }

    factsView(result) {
        const {usage = {}, isolation = {}} = result;
        const fact = (name, value) => value !== null && value !== undefined && value !== false && h("div", {class: "fact"}, h("dt", {}, name), h("dd", {}, value));
        return h("dl", {class: "fact-list"}, fact("Your code ran", duration(result.duration_ms)), fact("CPU", usage.cpu_ms !== null && duration(usage.cpu_ms)),
            fact("Memory", usage.memory_peak_bytes && bytes(usage.memory_peak_bytes)),
            fact("Walls", isolation.layers && h("span", {title: isolation.layers.join(", ")}, `${isolation.layers.length} up`,
                isolation.missing?.length > 0 && h("span", {class: "missing"}, `, missing: ${isolation.missing.join(", ")}`))),
            fact("Where", isolation.engine === "host" && h("span", {class: "missing"}, "on the host, by the setting “mode”")));
    }

    // Shows the time until the code started, beside the start time of its interpreter without a sandbox.
    timesView(element, times, fresh, bare, runtime, box) {
        const {sandbox, interpreter} = times;
        const ready = (sandbox ?? 0) + (interpreter ?? 0);
        const most = Math.max(ready, bare ?? 0);
        const bar = (className, ms) => h("span", {class: `bar ${className}`, style: {width: `${Math.max(ms / most * 100, 1.5)}%`}});
        if (!fresh || !(ready > 0)) return void replace(element, !fresh && h("p", {class: "muted small"}, "The sandbox and its interpreter were already running."));
        replace(element,
            h("div", {class: "timing-row"}, h("span", {class: "timing-name"}, interpreter === null ? "Sandbox, ready to run" : `Sandbox and ${runtime}, ready`),
                h("span", {class: "timing-bars"}, sandbox > 0 && bar("bar-sandbox", sandbox), interpreter > 0 && bar("bar-interpreter", interpreter)),
                h("span", {class: "timing-value"}, duration(ready))),
            bare === null && this.runner.canMeasure(box, runtime) && h("div", {}, button({label: "Compare with a start without Cella", icon: "clock", title: "Measures it in this sandbox, as one more execution in the log",
                onclick: async (event) => {
                    const pressed = event.currentTarget;
                    pressed.disabled = true;
                    try {
                        this.timesView(element, times, fresh, await this.runner.bareStart(box, runtime), runtime, box);
                    } catch (error) {
                        pressed.disabled = false;
                        toastError(error);
                    }
                }})),
            bare !== null && h("div", {class: "timing-row"}, h("span", {class: "timing-name"}, `${runtime}, started anew`),
                h("span", {class: "timing-bars"}, bar("bar-bare", bare)), h("span", {class: "timing-value"}, duration(bare))),
            bare !== null && h("p", {class: "muted small"}, "Above: the time that the daemon needed before your code began. Below: the time that the same interpreter needs to start without Cella; the median of five starts in this sandbox."));
    }

    violationsView(violations) {
        if (violations.length === 0) return null;
        return h("section", {class: "found", "aria-label": "What was refused"}, h("h3", {}, icon("shield", 16), `The sandbox refused ${violations.length === 1 ? "one thing" : `${count(violations.length)} things`}`),
            h("ul", {}, violations.map((v) => h("li", {}, badge(violationTitle(v.kind), "warn"), appendVisible(h("span"), violationWords(v))))));
    }

    scanView(scan) {
        if (!scan?.findings?.length) return null;
        return h("section", {class: "found", "aria-label": "Findings of the scanner"}, h("h3", {}, icon("search", 16), "The scanner noticed"),
            h("ul", {}, scan.findings.slice(0, 8).map((f) => h("li", {}, badge(f.severity, f.severity === "high" ? "bad" : f.severity === "medium" ? "warn" : ""),
                appendVisible(h("span", {class: "nowrap"}), `Line ${f.line}: ${String(f.rule).replaceAll("_", " ")}`), f.text && appendVisible(h("code", {class: "truncate"}), f.text)))));
    }

    filesView(files, reported, box) {
        if (files === null) {
            const listed = (reported ?? []).filter((f) => !isCache(f.path));
            if (listed.length === 0) return null;
            return h("section", {class: "found"}, h("h3", {}, icon("file", 16), "Files it wrote"), h("ul", {}, listed.slice(0, 50).map((f) => h("li", {}, appendVisible(h("span", {class: "mono"}), f.path)))),
                h("p", {class: "muted small"}, "They were deleted with the sandbox. To fetch files, a key needs the capabilities sandbox.manage and files."));
        }
        if (files.length === 0) return null;
        return h("section", {class: "found", "aria-label": "Files that changed"}, h("h3", {}, icon("file", 16), "Files that changed"),
            h("ul", {}, files.slice(0, 50).map((f) => h("li", {}, badge(f.change, f.change === "removed" ? "warn" : "ok"), appendVisible(h("span", {class: "mono grow truncate"}), f.path),
                f.change !== "removed" && [h("span", {class: "muted small nowrap"}, bytes(f.bytes)),
                    button({icon: "download", kind: "quiet", title: `Download ${visibleText(f.path)}`, onclick: () => this.fetch(box, f.path)})]))),
            files.length > 50 && h("p", {class: "muted small"}, `and ${count(files.length - 50)} more`));
    }

    async fetch(box, path) {
        try {
            download(await this.runner.fetchFile(box, path), path.split("/").at(-1));
        } catch (error) {
            toastError(error);
        }
    }
}
