// options.js -- the options of a run in "Try it": files, standard input, packages, limits and network.
import {button, bytes, can, currentUser, h, icon, plural, replace, toast, visibleText} from "./app.js";

const FILES_MAX = 20, BYTES_MAX = 64 << 20;
const TIERS = [["", "As in the settings"], ["restricted", "None"], ["standard", "Allowed domains"], ["elevated", "Any public address"]];
// name, title, unit, factor to the value of the API; words by which messages of the daemon name it
const NUMBERS = [
    ["timeout_ms", "Timeout", "seconds", 1000, /timeout/], ["memory_bytes", "Memory", "MiB", 1 << 20, /memory/], ["cpus", "CPUs", "cores", 1, /\bcpus?\b|cpu_time/],
    ["disk_bytes", "Disk", "MiB", 1 << 20, /disk/], ["processes", "Processes", "", 1, /process/],
];

export class RunOptions {
    // draft: an object that keeps what was chosen, except the files; save() stores it
    constructor({draft, save}) {
        draft.options ??= {};
        Object.assign(this, {draft, save, files: [], inputs: {}});
        const kept = draft.options;
        const keep = (name) => (event) => { kept[name] = event.target.value; save(); this.count(); };
        this.stdin = h("textarea", {id: "opt-stdin", rows: 3, spellcheck: "false", class: "mono", value: kept.stdin ?? "", oninput: keep("stdin")});
        this.packages = h("input", {type: "text", id: "opt-packages", spellcheck: "false", class: "mono", placeholder: "requests numpy<2", value: kept.packages ?? "", oninput: keep("packages")});
        const tiers = TIERS.map(([value]) => value), most = tiers.indexOf(currentUser()?.tier ?? "elevated");
        this.network = h("select", {id: "opt-network", onchange: keep("network")}, TIERS.map(([value, label], i) => h("option", {value, disabled: i > most && most > 0}, label)));
        this.network.value = kept.network ?? "";
        this.pick = h("input", {type: "file", multiple: true, hidden: true, "aria-label": "Files for the code", onchange: () => { this.add([...this.pick.files]); this.pick.value = ""; }});
        this.list = h("ul", {class: "chips", "aria-label": "Files that the code gets"});
        this.number = h("span", {class: "badge badge-info", hidden: true});
        const field = (id, label, input, help) => h("div", {class: "form-field"}, h("label", {for: id}, label), input, help && h("p", {class: "muted small"}, help));
        this.element = h("details", {class: "options"}, h("summary", {}, "Options ", this.number), h("div", {class: "options-body"},
            h("div", {class: "form-field"}, h("span", {class: "form-title"}, "Files"), h("div", {class: "row row-wrap"}, button({label: "Add files", icon: "upload", onclick: () => this.pick.click()}),
                h("span", {class: "muted small"}, "or drop them on the code. They are in /workspace."), this.pick), this.list),
            field("opt-stdin", "Standard input", this.stdin),
            can("sandbox.manage") && field("opt-packages", "Packages", this.packages, "Installed with pip or npm before the run; the network must allow the index."),
            h("div", {class: "options-limits"}, NUMBERS.map(([name, title, unit, factor]) => {
                const error = h("p", {class: "field-error", id: `opt-${name}-error`});
                const input = h("input", {type: "text", inputmode: "decimal", id: `opt-${name}`, class: "number-input", placeholder: "settings", value: kept[name] ?? "", "aria-describedby": error.id, oninput: keep(name)});
                this.inputs[name] = {input, error, title, factor};
                return h("div", {class: "form-field"}, h("label", {for: input.id}, title, unit && h("span", {class: "muted small"}, ` ${unit}`)), input, error);
            }), field("opt-network", "Network", this.network))));
        this.count();
    }

    // Says in the summary how many options are set.
    count() {
        const {options} = this.draft, n = Object.values(options).filter((value) => value?.trim?.()).length + (this.files.length > 0);
        this.number.hidden = n === 0;
        this.number.textContent = `${n} set`;
    }

    add(files) {
        for (const file of files) {
            if (this.files.length >= FILES_MAX) return void toast(`At most ${plural(FILES_MAX, "file")}`, {kind: "warn"});
            if (this.files.reduce((sum, {size}) => sum + size, file.size) > BYTES_MAX) return void toast(`The files may have ${bytes(BYTES_MAX)} together`, {kind: "warn"});
            this.files = [...this.files.filter(({name}) => name !== file.name), file];
        }
        this.element.open = true;
        this.showFiles();
    }

    showFiles() {
        replace(this.list, this.files.map((file) => h("li", {class: "chip chip-file"}, icon("file", 14), h("span", {class: "mono"}, visibleText(file.name)), ` ${bytes(file.size)}`,
            button({icon: "close", kind: "quiet", title: `Remove ${visibleText(file.name)}`, class: "button button-quiet button-icon button-tiny", onclick: () => { this.files = this.files.filter((f) => f !== file); this.showFiles(); this.pick.previousElementSibling.previousElementSibling.focus(); }}))));
        this.count();
    }

    // Lets files be dropped on an element.
    acceptDrops(element) {
        for (const name of ["dragover", "dragenter", "dragleave", "drop"]) element.addEventListener(name, (event) => {
            if (!event.dataTransfer?.types.includes("Files")) return;
            event.preventDefault();
            element.classList.toggle("drop", name === "dragover" || name === "dragenter");
            if (name === "drop") this.add([...event.dataTransfer.files]);
        });
    }

    // -> {stdin, files, packages, limits, network}; null: a field is not valid, it has the focus.
    read() {
        const limits = {};
        let wrong = null;
        for (const [name, {input, error, title, factor}] of Object.entries(this.inputs)) {
            const text = input.value.trim().replace(",", "."), value = Number(text) * factor;
            const bad = text !== "" && !(value > 0);
            error.textContent = bad ? `${title}: a number above 0 is needed.` : "";
            input.toggleAttribute("aria-invalid", false);
            if (bad) {
                input.setAttribute("aria-invalid", "true");
                wrong ??= input;
            } else if (text !== "") limits[name] = name === "cpus" ? value : Math.round(value);
        }
        if (wrong) this.show(wrong);
        return wrong ? null : {stdin: this.stdin.value === "" ? undefined : this.stdin.value, files: this.files, packages: this.packages.value.split(/\s+/).filter(Boolean),
            limits, network: this.network.value ? {tier: this.network.value} : undefined};
    }

    show(input) {
        this.element.open = true;
        input.scrollIntoView({block: "center"});
        input.focus({preventScroll: true});
    }

    // A button that leads to the option by which a message says that it can be fixed; or null.
    fixFor(message) {
        const text = String(message ?? "");
        const [name, title] = NUMBERS.find(([, , , , words]) => words.test(text)) ?? [];
        if (name && /limit|reached|\bmust\b|at most/.test(text)) return button({label: `Set ${title.toLowerCase()} for the next run`, icon: "sliders", onclick: () => this.show(this.inputs[name].input)});
        if (/network/.test(text)) return button({label: "Set the network for the next run", icon: "sliders", onclick: () => this.show(this.network)});
        return null;
    }
}

/* ---- which language is it? ---- */
const SIGNS = {
    python: [/^\s*(def|class) \w+.*:\s*(#.*)?$/m, /^\s*(import \w+(\.\w+)*( as \w+)?|from [\w.]+ import .+)\s*$/m, /^\s*print\(/m, /^\s*(elif .*|else|try|except.*|with .+|for \w+ in .+|if .+):\s*$/m, /\bself\.|\bNone\b|\bTrue\b|f"/],
    node: [/^\s*(const|let|var) [\w${[]/m, /\bconsole\.(log|error)\(/, /=>\s*[{(\w]/, /\brequire\(["']|^\s*import .* from ["']/m, /^\s*(async )?function\b.*\{\s*$/m, /;\s*$/m],
    shell: [/^\s*(echo|cd|ls|cat|grep|sed|awk|mkdir|rm|cp|mv|curl|export|set -) ?\S*/m, /^\s*(if|while) .*;?\s*then|^\s*(for|while) .*;\s*do\b|^\s*(fi|done|esac)\s*$/m, /\$\(|\$\{?\w+|\s\|\s*\w+/, /^\s*\w+=\S+\s*$/m],
};

// Returns the id of the language that code is written in, if that is clear; else null.
export function languageOfCode(code) {
    const text = code.slice(0, 8000), first = text.split("\n", 1)[0];
    if (first.startsWith("#!")) return /python/.test(first) ? "python" : /node|deno|bun/.test(first) ? "node" : /sh\b/.test(first) ? "shell" : null;
    const scores = Object.entries(SIGNS).map(([id, signs]) => [id, signs.filter((sign) => sign.test(text)).length]).sort((a, b) => b[1] - a[1]);
    return scores[0][1] >= 2 && scores[0][1] > scores[1][1] ? scores[0][0] : null;
}
