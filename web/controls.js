// controls.js -- one control for each type of setting. Each is {element, set(value), mark(wrong)} and calls
// onChange(value, problem): problem is a sentence if the input is not a value at all or is out of range.
// single    its label can belong to one input      wide    needs the full width      explains    shows its own description
import {button, bytes, duration, h, replace} from "./app.js";

const BYTES = [["bytes", 1], ["KiB", 1024], ["MiB", 1024 ** 2], ["GiB", 1024 ** 3], ["TiB", 1024 ** 4]];
const TIMES = [["ms", 1], ["seconds", 1000], ["minutes", 60000], ["hours", 3600000], ["days", 86400000]];
const WORDS = {
    mode: {all: "All", selective: "Selective", off: "Off"}, scope: {execution: "Execution", session: "Session", agent: "Agent", shared: "Shared"},
    workspace: {none: "None", ro: "Read only", rw: "Read and write"}, "network.tier": {restricted: "Restricted: off", standard: "Standard", elevated: "Elevated"},
    "scan.action": {off: "Off", warn: "Warn", block: "Block"}, "scan.block.severity": {low: "Low", medium: "Medium", high: "High"},
};
const ALIASES = {"network.tier": {sandbox: "restricted", unrestricted: "elevated"}};

const unitsOf = (path) => path.endsWith("bytes") || /bytes_/.test(path) ? BYTES : path.endsWith("_ms") ? TIMES : null;
const typesOf = (schema) => [schema.type].flat();
const isNullable = (schema) => typesOf(schema).includes("null");

// Returns a value as text for lists of changes.
export function show(path, value) {
    if (value === null || value === undefined) return "none";
    if (value === true) return "on";
    if (value === false) return "off";
    if (typeof value === "number") return unitsOf(path) === BYTES ? bytes(value) : unitsOf(path) === TIMES ? duration(value) : String(value);
    if (Array.isArray(value) && value.every((v) => typeof v === "string")) return value.length === 0 ? "none" : value.length <= 3 ? value.join(", ") : `${value.length} entries`;
    if (path === "mounts" && Array.isArray(value)) return value.length === 0 ? "none" : value.map((m) => `${m.name} → ${m.path}${m.mode === "rw" ? " (rw)" : ""}`).join(", ");
    if (path === "pools" && Array.isArray(value)) return value.length === 0 ? "none" : value.map((p) => `${p.size} × ${p.runtime ?? "spare sandbox"}`).join(", ");
    if (typeof value === "object") {
        const entries = Object.entries(value);
        return entries.length === 0 ? "none" : entries.every(([, v]) => typeof v === "string") ? entries.map(([k, v]) => `${k} → ${v}`).join(", ") : JSON.stringify(value);
    }
    return WORDS[path]?.[value] ?? String(value);
}

// "all: everything runs …; off: …" -> {all: "Everything runs …."}; null if the text has another form.
function wordsOf(description, words) {
    const found = {};
    for (const part of (description ?? "").split(/;\s*/)) {
        const at = part.indexOf(":");
        if (at > 0 && words.includes(part.slice(0, at).trim())) found[part.slice(0, at).trim()] = part.slice(at + 1).trim();
    }
    return Object.keys(found).length > 0 ? found : null;
}

export function controlFor(options) {
    const {path, schema} = options, types = typesOf(schema);
    if (path === "pools") return poolsControl(options);
    if (path === "image") return imageControl(options);
    if (schema.enum) return wordControl(options);
    if (types.includes("boolean")) return switchControl(options);
    if (types.includes("integer") || types.includes("number")) return numberControl(options);
    if (types.includes("string")) return textControl(options);
    if (types.includes("array") && schema.items?.type === "string") return linesControl(options);
    if (types.includes("object") && schema.additionalProperties?.type === "string") return mapControl(options);
    return jsonControl(options);
}

const described = (id) => ({"aria-describedby": `${id}-help ${id}-error`});
const marker = (...inputs) => (wrong) => inputs.forEach((input) => { if (wrong) input.setAttribute("aria-invalid", "true"); else input.removeAttribute("aria-invalid"); });

/* ---- a choice of a few words ---- */
function wordControl({path, schema, id, title, value, onChange}) {
    const aliases = ALIASES[path] ?? {};
    const words = schema.enum.filter((word) => word !== null && !aliases[word]);
    const about = wordsOf(schema.description, words);
    if (!about) return selectControl({path, words, id, value, onChange});
    const group = h("div", {class: "choices", role: "radiogroup", "aria-labelledby": `${id}-label`}, words.map((word) => h("label", {class: "choice"},
        h("input", {type: "radio", name: id, value: word, onchange: () => onChange(word, null)}),
        h("span", {class: "choice-text"}, h("strong", {}, WORDS[path]?.[word] ?? word, word === schema.default && h("span", {class: "muted small"}, " · default")), h("span", {class: "muted small"}, capital((about[word] ?? "").replaceAll("_", " ")))))));
    const control = {element: group, wide: true, explains: true, mark: marker(group), set: (to) => {
        for (const input of group.querySelectorAll("input")) input.checked = input.value === (aliases[to] ?? to);
    }};
    control.set(value);
    return control;
}

const capital = (text) => text && text[0].toUpperCase() + text.slice(1) + (/[.!?)]$/.test(text) ? "" : ".");

function selectControl({path, words, id, value, onChange}) {
    const select = h("select", {id, ...described(id), onchange: () => onChange(select.value, null)}, words.map((word) => h("option", {value: word}, WORDS[path]?.[word] ?? word)));
    select.value = value;
    return {element: select, single: true, mark: marker(select), set: (to) => { select.value = to; }};
}

function switchControl({id, value, onChange}) {
    const input = h("input", {type: "checkbox", role: "switch", id, ...described(id), checked: value === true, onchange: () => onChange(input.checked, null)});
    return {element: h("span", {class: "switch"}, input, h("span", {class: "switch-track", "aria-hidden": "true"})), single: true, mark: marker(input), set: (to) => { input.checked = to === true; }};
}

/* ---- numbers, with a unit if they have one ---- */
function bestUnit(units, value) {
    for (let i = units.length - 1; i > 0; i--) if (value >= units[i][1] && Number.isInteger(value / units[i][1] * 100)) return i;
    return 0;
}

function numberProblem(schema, value, text, words) {
    if (text.trim() === "") return "A number is needed";
    if (!Number.isFinite(value)) return "This is not a number";
    if (typesOf(schema).includes("integer") && !Number.isInteger(value)) return "This must be a whole number";
    if (schema.minimum !== undefined && value < schema.minimum) return `At least ${words(schema.minimum)}`;
    if (schema.maximum !== undefined && value > schema.maximum) return `At most ${words(schema.maximum)}`;
    return null;
}

function numberControl({path, schema, id, title, value, onChange}) {
    const units = unitsOf(path);
    let unit = units ? 0 : null, last = value ?? schema.default ?? schema.minimum ?? 1;
    const input = h("input", {type: "text", inputmode: "decimal", id, class: "number-input", autocomplete: "off", ...described(id), oninput: tell});
    const select = units && h("select", {"aria-label": `Unit of ${title}`, onchange: () => { unit = Number(select.value); tell(); }}, units.map(([name], i) => h("option", {value: i}, name)));
    const none = isNullable(schema) && h("input", {type: "checkbox", id: `${id}-none`, onchange: () => { if (none.checked) onChange(null, null); else write(last || schema.minimum || 1); able(); if (!none.checked) tell(); }});
    function able() { input.disabled = none?.checked ?? false; if (select) select.disabled = input.disabled; }
    function write(to) {
        if (none) none.checked = to === null || to === undefined;
        if (to !== null && to !== undefined) {
            last = to;
            if (units) { unit = bestUnit(units, to); select.value = String(unit); }
            input.value = String(units ? Number((to / units[unit][1]).toFixed(6)) : to);
        } else input.value = "";
        able();
    }
    function tell() {
        const typed = Number(input.value.replace(/(\d)[_\u2009 ](?=\d)/g, "$1").replace(",", "."));
        const exact = units ? Math.round(typed * units[unit][1] * 1e6) / 1e6 : typed;
        const number = units ? Math.round(exact) : exact;
        const wrong = numberProblem(schema, number, input.value, (n) => show(path, n));
        if (!wrong) last = number;
        onChange(number, wrong);
    }
    write(value);
    return {single: true, mark: marker(input), set: write, element: h("span", {class: "row row-wrap"}, h("span", {class: "with-unit"}, input, select), none && h("label", {class: "check", for: `${id}-none`}, none, "No limit"))};
}

/* ---- text ---- */
function textControl({schema, id, value, onChange}) {
    const input = h("input", {type: "text", id, autocomplete: "off", spellcheck: "false", class: "text-input", ...described(id), placeholder: isNullable(schema) ? "none" : null, oninput: () => {
        const text = input.value.trim();
        if (text === "" && isNullable(schema)) return onChange(null, null);
        const wrong = text.length < (schema.minLength ?? 0) ? "A value is required" : text.length > (schema.maxLength ?? Infinity) ? `At most ${schema.maxLength} characters` : null;
        onChange(text, wrong);
    }});
    input.value = value ?? "";
    return {element: input, single: true, mark: marker(input), set: (to) => { input.value = to ?? ""; }};
}

function imageControl(options) {
    const control = textControl(options), list = `${options.id}-list`;
    const names = (options.images ?? []).map((image) => image.name ?? image.names?.[0]).filter((name) => typeof name === "string" && name !== "host");
    const input = control.element;
    input.setAttribute("list", list);
    control.element = h("span", {}, input, h("datalist", {id: list}, ["host", ...names].map((name) => h("option", {value: name}))));
    return control;
}

// One entry on each line.
function linesControl({schema, id, value, onChange}) {
    const input = h("textarea", {id, rows: 3, spellcheck: "false", autocomplete: "off", class: "mono lines-input", ...described(id), placeholder: "one on each line", oninput: () => {
        const lines = input.value.split(/[\n,]/).map((line) => line.trim()).filter(Boolean);
        size();
        onChange(lines, lines.length > (schema.maxItems ?? Infinity) ? `At most ${schema.maxItems} entries` : null);
    }});
    const size = () => { input.rows = Math.min(Math.max(input.value.split("\n").length + 1, 3), 12); };
    const set = (to) => { input.value = (to ?? []).join("\n"); size(); };
    set(value);
    return {element: input, single: true, mark: marker(input), set};
}

/* ---- name -> word ---- */
function mapControl({id, title, value, onChange}) {
    const rows = h("div", {class: "rows"});
    const element = h("div", {class: "rows-control", role: "group", "aria-labelledby": `${id}-label`}, rows,
        button({label: "Add", icon: "plus", onclick: () => { const row = add("", ""); row.querySelector("input").focus(); }}));
    const read = () => [...rows.children].map((row) => [...row.querySelectorAll("input")].map((input) => input.value.trim()));
    function tell() {
        const entries = read().filter(([name, word]) => name || word);
        const wrong = entries.some(([name, word]) => !name || !word) ? "Both sides must be filled in" : new Set(entries.map(([name]) => name)).size < entries.length ? "A name is listed twice" : null;
        onChange(Object.fromEntries(entries), wrong);
    }
    function add(name, word) {
        const row = h("div", {class: "row"}, h("input", {type: "text", value: name, "aria-label": `${title}: name`, placeholder: "python", spellcheck: "false", oninput: tell}), h("span", {class: "muted", "aria-hidden": "true"}, "→"),
            h("input", {type: "text", value: word, "aria-label": `${title}: stands for`, placeholder: "python3", spellcheck: "false", oninput: tell}),
            button({icon: "trash", kind: "quiet", title: `Remove ${name || "this row"}`, onclick: () => { row.remove(); tell(); }}));
        rows.append(row);
        return row;
    }
    const set = (to) => { replace(rows); for (const [name, word] of Object.entries(to ?? {})) add(name, word); };
    set(value);
    return {element, mark: (wrong) => marker(...element.querySelectorAll("input"))(wrong), set};
}

/* ---- pools: a table ---- */
function poolsControl({schema, id, value, onChange}) {
    const properties = schema.items?.properties ?? {};
    const body = h("div", {class: "pools"});
    const element = h("div", {class: "rows-control", role: "group", "aria-labelledby": `${id}-label`}, body, button({label: "Add a pool", icon: "plus", onclick: () => { add({runtime: "python3", size: 2}); tell(); body.lastChild.querySelector("input").focus(); }}));
    let list = [];
    function tell() {
        const sizes = properties.size ?? {};
        const bad = list.find((p) => !p.runtime || !Number.isInteger(p.size) || p.size < (sizes.minimum ?? 0) || p.size > (sizes.maximum ?? Infinity));
        const hasty = list.some((p) => p.idle_timeout_ms !== undefined && !(p.idle_timeout_ms >= 1000));
        onChange(list, bad ? (!bad.runtime ? "A pool needs a runtime" : `The size of a pool is a whole number from ${sizes.minimum ?? 0} to ${sizes.maximum}`) : hasty ? "A pool is emptied after at least one second" : null);
    }
    // Modules, or a word that stands for a list.
    function readPreload(text) {
        return text === "" ? undefined : text === "auto" ? text : text === "none" ? [] : text.split(/[\s,]+/).filter(Boolean);
    }
    function field(label, input, help) { return h("label", {class: "pool-field"}, h("span", {class: "small muted", title: help}, label), input); }
    function add(pool) {
        list.push(pool);
        const change = (name, read) => (event) => {
            const to = read(event.target.value.trim());
            if (to === undefined) delete pool[name]; else pool[name] = to;
            tell();
        };
        const row = h("div", {class: "pool"},
            field("Runtime", h("input", {type: "text", value: pool.runtime ?? "", spellcheck: "false", oninput: change("runtime", (t) => t)}), properties.runtime?.description),
            field("Ready", h("input", {type: "text", inputmode: "numeric", value: String(pool.size ?? ""), class: "number-input", oninput: change("size", (t) => t === "" ? NaN : Number(t))}), properties.size?.description),
            field("Imported already", h("input", {type: "text", value: Array.isArray(pool.preload) ? pool.preload.join(", ") || "none" : pool.preload ?? "", spellcheck: "false", placeholder: "auto", oninput: change("preload", readPreload)}), properties.preload?.description),
            field("Emptied after", h("input", {type: "text", inputmode: "numeric", value: pool.idle_timeout_ms ? String(pool.idle_timeout_ms / 1000) : "", class: "number-input", placeholder: "never", oninput: change("idle_timeout_ms", (t) => t === "" ? undefined : Math.round(Number(t) * 1000))}), `In seconds: ${properties.idle_timeout_ms?.description}`),
            field("Image", h("input", {type: "text", value: pool.image ?? "", spellcheck: "false", placeholder: "as above", oninput: change("image", (t) => t || undefined)}), properties.image?.description),
            button({icon: "trash", kind: "quiet", title: `Remove the pool of ${pool.runtime || "no runtime yet"}`, onclick: () => { list.splice(list.indexOf(pool), 1); row.remove(); tell(); }}),
            pool.limits && Object.keys(pool.limits).length > 0 && h("p", {class: "small muted pool-limits"}, `with limits of its own: ${Object.entries(pool.limits).map(([k, v]) => `${k} ${show(k, v)}`).join(", ")}`));
        body.append(row);
    }
    const set = (to) => { list = []; replace(body); for (const pool of to ?? []) add(structuredClone(pool)); };
    set(value);
    return {element, wide: true, mark: () => {}, set};
}

/* ---- everything else: as JSON ---- */
function jsonControl({schema, id, value, onChange}) {
    const input = h("textarea", {id, rows: 3, spellcheck: "false", class: "mono lines-input", ...described(id), oninput: () => {
        try {
            onChange(input.value.trim() === "" ? schema.default ?? null : JSON.parse(input.value), null);
        } catch (error) {
            onChange(undefined, `This is not JSON: ${error.message}`);
        }
    }});
    const set = (to) => { input.value = JSON.stringify(to ?? null, null, 2); input.rows = Math.min(Math.max(input.value.split("\n").length, 2), 14); };
    set(value);
    return {element: input, single: true, mark: marker(input), set};
}
