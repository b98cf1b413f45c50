// settings.js -- the page "Sandbox": all settings, generated from the schema by which the daemon checks them.
//
// The settings, their descriptions and their limits come from the schema in /openapi.json. LAYOUT below only contains
// their order and titles. A setting that LAYOUT does not contain appears under "More", so none is missing. While the
// user types, the rules of the schema are checked here, and shortly after that the daemon checks the whole document
// (PUT ?check=1). Saving is one PUT with If-Match: changes that another user made meanwhile are shown, never
// overwritten.
import {api, append, badge, button, confirm, dialog, events, h, icon, notice, replace, toast, toastError} from "./app.js";
import {appendVisible} from "./widgets.js";
import {controlFor, show} from "./controls.js";

export const keep = true; // keep unsaved changes while the daemon is unreachable

const LAYOUT = [
    {title: "Isolation", icon: "shield", text: "Which code runs in a sandbox, which requests share one, and which of the agent's files it sees.",
        fields: {mode: "Mode", scope: "Scope", workspace: "Workspace access", workspace_root: "Workspace directory", mounts: "Directories of the host"}},
    {title: "Limits of a sandbox", icon: "sliders", text: "The resources of one sandbox. A request can ask for less, and for more only if its key allows it.",
        fields: {limits: "Limits"}}, // the titles are in the schema
    {title: "Network", icon: "pulse", text: "Where code may connect to. Private, link-local and metadata addresses are refused in every tier unless they are listed.",
        fields: {"network.tier": "Network", "network.allowed_domains": "Allowed domains", "network.blocked_domains": "Blocked domains", "network.allowed_private": "Allowed private addresses",
            "network.connections": "Connections at once", "network.bytes_per_execution": "Traffic of one execution", "network.idle_timeout_ms": "Idle connections"}},
    {title: "Images and runtimes", icon: "box", text: "The root file system of sandboxes, and the runtimes in it.",
        fields: {engine: "Engine", image: "Image", default_runtimes: "Default runtimes", runtimes: "Runtimes from images", images: "Images"}},
    {title: "Pools", icon: "clock", text: "Sandboxes created in advance, each with a waiting interpreter, so that code starts in a millisecond.", fields: {pools: "Pools", "learning.memory_bytes": "Memory for learned packages"}},
    {title: "How many, how long", icon: "list", text: "The maximum number of sandboxes, and when unused ones are deleted.",
        fields: {"sandboxes.max": "Sandboxes at once", "sandboxes.kept_max": "Sandboxes with files", "sandboxes.idle_timeout_ms": "Idle sandboxes", "sandboxes.workspace_keep_ms": "Unused workspaces", "sandboxes.queue_timeout_ms": "Waiting for room",
            "sandboxes.queue_max": "Requests waiting", "sandboxes.cleanup_interval_ms": "Clean-up"}},
    {title: "Scanner", icon: "search", text: "Reads Python, shell and JavaScript before or while they run.", fields: {"scan.enabled": "Scanner", "scan.action": "What it does", "scan.block.severity": "Refuse from severity", "scan.block.categories": "Refuse categories"}},
    {title: "Log", icon: "file", text: "The log has a row for every execution.", fields: {"audit.keep_days": "Days kept", "audit.keep_bytes": "Size", "audit.keep_output": "Output"}},
    {title: "More", icon: "plus", text: "Settings without a group.", fields: {}},
];

// A setting that can have only one value is not a choice (cluster: must be null).
const isFixed = (schema) => /^must be null\b/.test(schema.description ?? "");

/* ---- documents ---- */
const copy = (value) => structuredClone(value);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const steps = (path) => path.split(".");
const get = (document, path) => steps(path).reduce((at, step) => at?.[step], document);

function set(document, path, value) {
    const all = steps(path), last = all.pop();
    let at = document;
    for (const step of all) at = at[step] ??= {};
    at[last] = value;
}

// Returns all paths of the schema that have a value, with their schemas; objects with fields of their own are expanded.
function leaves(schema, prefix = "") {
    return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
        const path = prefix ? `${prefix}.${name}` : name;
        return field.type === "object" && field.properties ? leaves(field, path) : [[path, field]];
    });
}

// [{path, from, to}] of the leaves that differ.
const differences = (fields, from, to) => [...fields.keys()].filter((path) => !same(get(from, path) ?? null, get(to, path) ?? null))
    .map((path) => ({path, from: get(from, path), to: get(to, path)}));

const TITLES = Object.assign({}, ...LAYOUT.map((section) => section.fields));
const PLACED = Object.keys(TITLES);
const titleOf = (path) => TITLES[path] ?? path.split(".").at(-1).replaceAll("_", " ").replace(/^./, (c) => c.toUpperCase());

/* ---- kept when the user leaves the page and returns, but not when the key changes ---- */
const nothing = () => ({base: null, etag: null, edited: null, history: []}); // history: [{before, after}] of each save
const kept = nothing();
events.addEventListener("sign-in", () => Object.assign(kept, nothing()));

async function readSettings(signal) {
    const response = await api("/v1/settings", {raw: true, signal});
    return {etag: response.headers.get("ETag"), document: await response.json()};
}

export async function mount(root, {query, signal}) {
    const [{components}, now, images] = await Promise.all([api("/openapi.json", {signal}), readSettings(signal), api("/v1/images", {signal}).catch(() => ({images: []}))]);
    const page = new SettingsPage(root, components.schemas.Settings, now, images.images, signal);
    if (page.controls.has(query.get("at"))) page.reveal(query.get("at"));
    return page.leave;
}

class SettingsPage {
    constructor(root, schema, now, images, signal) {
        Object.assign(this, {signal, images, fields: new Map(leaves(schema).filter(([, field]) => !isFixed(field))), controls: new Map(), wrong: new Map(), saving: false});
        for (const [path, {title}] of this.fields)
            if (title) TITLES[path] ??= title;
        this.what = h("div", {class: "save-what"});
        this.saver = button({label: "Save", icon: "check", kind: "primary", onclick: () => this.save()});
        this.reasons = h("ul", {class: "save-wrong"}); // kept for the same reason
        // The buttons are not replaced: an element that is replaced while it is pressed gets no click event.
        this.bar = h("div", {class: "save-bar", role: "region", "aria-label": "Changes", hidden: true}, this.what,
            h("div", {class: "row"}, button({label: "Discard", kind: "quiet", onclick: () => this.discard()}), this.saver));
        this.elsewhere = h("div", {});
        this.undo = button({label: "Undo last save", icon: "undo", onclick: () => this.undoLast(), title: "Puts back what the last save changed"});
        const changed = kept.edited !== null && differences(this.fields, kept.base, kept.edited).length > 0;
        const moved = changed && kept.etag !== now.etag;
        if (!changed) this.adopt(now);
        append(root, h("div", {class: "page-head"}, h("div", {}, h("h1", {}, "Sandbox"), h("p", {}, "How code is run, unless a request says otherwise. Changes apply to new sandboxes.")),
            h("div", {class: "row"}, this.undo)), this.elsewhere, h("div", {class: "settings"}, this.contents(), h("div", {class: "stack"}, this.sections())), this.bar);
        this.refresh();
        if (moved) this.tellElsewhere(now);
        const look = () => { if (document.visibilityState === "visible") this.lookAgain(); };
        document.addEventListener("visibilitychange", look, {signal});
        events.addEventListener("online", look, {signal});
        addEventListener("beforeunload", (event) => { if (this.changes().length > 0) event.preventDefault(); }, {signal});
        this.leave = () => clearTimeout(this.timer);
    }

    adopt({etag, document}) {
        kept.etag = etag;
        kept.base = document;
        kept.edited = copy(document);
    }

    changes() { return differences(this.fields, kept.base, kept.edited); }

    /* ---- the content of the page ---- */
    layout() {
        const covered = (path) => PLACED.some((p) => path === p || path.startsWith(`${p}.`));
        const other = [...this.fields.keys()].filter((path) => !covered(path));
        return LAYOUT.map((section) => {
            const named = Object.keys(section.fields).flatMap((path) => this.fields.has(path) ? [path] : [...this.fields.keys()].filter((p) => p.startsWith(`${path}.`)));
            return {...section, paths: section.title === "More" ? other : named, id: `set-${section.title.toLowerCase().replace(/\W+/g, "-")}`};
        }).filter((section) => section.paths.length > 0);
    }

    contents() {
        return h("nav", {class: "contents", "aria-label": "Groups of settings"}, this.layout().map(({title, id}) =>
            h("a", {href: `#${id}`, onclick: (event) => {
                event.preventDefault();
                const target = document.getElementById(id);
                target.scrollIntoView({block: "start"});
                target.focus({preventScroll: true});
            }}, title)));
    }

    sections() {
        return this.layout().map(({title, text, icon: name, paths, id}) => h("section", {class: "card settings-card", id, tabindex: "-1", "aria-label": title},
            h("header", {}, icon(name), h("div", {}, h("h2", {}, title), h("p", {class: "muted"}, text))), paths.map((path) => this.row(path))));
    }

    row(path) {
        const schema = this.fields.get(path), id = `f-${path.replace(/\W/g, "-")}`;
        const error = h("p", {class: "field-error", id: `${id}-error`, role: "alert"});
        const control = controlFor({path, schema, id, title: titleOf(path), images: this.images, value: get(kept.edited, path), onChange: (value, problem) => this.edit(path, value, problem)});
        const reset = "default" in schema ? h("button", {type: "button", class: "link small", hidden: true, onclick: () => this.put(path, copy(schema.default))}, "Use the default") : null;
        const row = h("div", {class: ["setting", control.wide && "setting-wide"], dataset: {path}},
            h("div", {class: "setting-about"}, h(control.single ? "label" : "span", {class: "setting-title", for: control.single ? id : null, id: `${id}-label`}, titleOf(path)),
                control.explains ? null : h("p", {class: "muted small", id: `${id}-help`}, sentence((schema.description ?? "").replace(/\bnull\b/g, "none"))),
                !control.explains && h("p", {class: "small faint"}, "default" in schema && ["Default: ", h("span", {}, show(path, schema.default)), " "], reset)),
            h("div", {class: "setting-control"}, control.element, error));
        this.controls.set(path, {control, error, row, reset});
        return row;
    }

    /* ---- changing ---- */
    edit(path, value, problem) {
        if (problem) this.wrong.set(path, problem);
        else {
            this.wrong.delete(path);
            set(kept.edited, path, value);
        }
        this.refresh();
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.check(), 250);
    }

    // Sets a value from outside the control: default, undo, a change by another user.
    put(path, value) {
        this.controls.get(path).control.set(value);
        this.edit(path, value, null);
    }

    putAll(document) {
        this.wrong.clear();
        for (const path of this.fields.keys()) {
            const value = get(document, path);
            set(kept.edited, path, copy(value));
            this.controls.get(path).control.set(copy(value));
        }
        this.refresh();
    }

    async check() {
        if (this.wrong.size > 0 || this.changes().length === 0) return this.showRefusal(null);
        const asked = JSON.stringify(kept.edited);
        try {
            await api("/v1/settings?check=1", {method: "PUT", body: kept.edited, signal: this.signal});
            if (asked === JSON.stringify(kept.edited)) this.showRefusal(null);
        } catch (error) {
            if (asked === JSON.stringify(kept.edited) && error.status >= 400 && error.status < 500 && error.status !== 401) this.showRefusal(error);
        }
    }

    // Shows the daemon's message at the field that it begins with: "limits.cpus must be …", "pools[1].size …".
    showRefusal(error) {
        this.refused = error;
        this.refusedPath = error ? [...this.fields.keys()].filter((path) => new RegExp(`^${path.replaceAll(".", "\\.")}(?![\\w.])`).test(error.message)).sort((a, b) => b.length - a.length)[0]
            ?? [...this.fields.keys()].find((path) => error.message.startsWith(`${path} `) || error.message.startsWith(`${path}:`) || error.message.startsWith(`${path}[`)) ?? null : null;
        this.refresh();
    }

    refresh() {
        const changes = this.changes(), changed = new Set(changes.map((c) => c.path));
        for (const [path, {control, error, row, reset}] of this.controls) {
            const words = this.wrong.get(path) ?? (this.refusedPath === path && changed.has(path) ? `${this.refused.message}${this.refused.hint ? ` (${this.refused.hint})` : ""}` : "");
            error.textContent = words ? sentence(words) : "";
            row.classList.toggle("setting-changed", changed.has(path) || this.wrong.has(path));
            control.mark(Boolean(words));
            if (reset) reset.hidden = same(get(kept.edited, path), this.fields.get(path).default);
        }
        this.undo.hidden = kept.history.length === 0;
        this.showBar(changes);
    }

    showBar(changes) {
        const wrong = this.wrong.size > 0 || this.refused;
        const n = changes.length + [...this.wrong.keys()].filter((path) => !changes.some((c) => c.path === path)).length;
        this.bar.hidden = n === 0;
        this.saver.disabled = Boolean(wrong) || this.saving;
        if (n === 0) return;
        const list = changes.slice(0, 3).map(({path, from, to}) => h("li", {}, h("strong", {}, titleOf(path)), " ", appendVisible(h("span", {class: "muted"}), `${show(path, from)} → ${show(path, to)}`)));
        replace(this.what, h("strong", {role: "status"}, n === 1 ? "1 change" : `${n} changes`), h("ul", {}, list, changes.length > 3 && h("li", {class: "muted"}, `and ${changes.length - 3} more`)),
            this.reasons);
        this.showReasons();
    }

    // Names each invalid field; pressing the name leads to it.
    showReasons() {
        const wrong = [...this.wrong].map(([path, words]) => [path, sentence(words)]);
        if (this.refused) wrong.push([this.refusedPath, sentence(this.refused.message)]);
        const shown = JSON.stringify(wrong);
        if (this.reasons.dataset.shown === shown) return; // the element under the pointer stays
        this.reasons.dataset.shown = shown;
        replace(this.reasons, wrong.slice(0, 4).map(([path, words]) => h("li", {class: "field-error"}, path && [h("button", {type: "button", class: "link", onclick: () => this.reveal(path)}, titleOf(path)), ": "],
            appendVisible(h("span"), words))));
    }

    reveal(path) {
        const {row} = this.controls.get(path);
        row.scrollIntoView({block: "center"});
        row.querySelector("[aria-invalid=true], .setting-control :is(input, select, textarea, button)")?.focus({preventScroll: true});
    }

    discard() {
        this.showRefusal(null);
        this.putAll(kept.base);
    }

    /* ---- saving ---- */
    async save() {
        const before = kept.base;
        if (!this.warned(before, kept.edited) || await this.confirmOff()) await this.send(kept.edited, (after) => { kept.history.push({before, after}); });
    }

    warned(before, after) { return before.mode !== "off" && after.mode === "off"; }

    confirmOff() {
        return confirm({title: "Run code without a sandbox?", action: "Turn it off",
            text: "With mode “off”, code without special requirements runs directly on this machine, with access to its files and its network. Do this only for code you would run yourself."});
    }

    async send(document, done) {
        this.saving = true;
        this.refresh();
        try {
            const response = await api("/v1/settings", {method: "PUT", body: document, headers: {"If-Match": kept.etag}, raw: true, signal: this.signal});
            const now = {etag: response.headers.get("ETag"), document: await response.json()};
            done(now.document);
            this.adopt(now);
            this.putAll(kept.base);
            replace(this.elsewhere);
            toast("Saved", {kind: "ok", action: kept.history.length > 0 && button({label: "Undo", kind: "quiet", onclick: (event) => { event.target.closest(".toast")?.remove(); this.undoLast(); }})});
        } catch (error) {
            if (error.status === 412) await this.conflict();
            else if (error.status === 400) this.showRefusal(error);
            else toastError(error);
        }
        this.saving = false;
        this.refresh();
    }

    async undoLast() {
        if (this.changes().length > 0 && !await confirm({title: "Undo the last save?", text: "Unsaved changes are lost.", action: "Undo"})) return;
        const last = kept.history.at(-1);
        if (!last) return;
        // Undoes only the changes of that save that still have the saved value: the others were changed by another
        // user.
        const mine = differences(this.fields, last.before, last.after), still = mine.filter(({path, to}) => same(get(kept.base, path), to));
        const undone = copy(kept.base), others = mine.filter((change) => !still.includes(change)).map(({path}) => titleOf(path)).join(", ");
        for (const {path, from} of still) set(undone, path, copy(from));
        if (this.warned(kept.base, undone) && !await this.confirmOff()) return;
        if (others) toast(`Changed again since, and not undone: ${others}.`, {kind: "info"});
        if (still.length === 0) {
            kept.history.pop();
            return this.refresh();
        }
        this.putAll(undone);
        await this.send(kept.edited, () => { kept.history.pop(); });
    }

    async conflict() {
        const now = await readSettings(this.signal);
        const mine = this.changes(), theirs = differences(this.fields, kept.base, now.document);
        const both = theirs.filter(({path}) => mine.some((c) => c.path === path));
        const answer = await dialog({title: "Changed elsewhere meanwhile", class: "conflict", body: [
            h("p", {}, "Another user has saved settings since you opened this page. Nothing was overwritten."),
            h("ul", {}, theirs.map(({path, from, to}) => h("li", {}, h("strong", {}, titleOf(path)), " ", appendVisible(h("span"), `${show(path, from)} → ${show(path, to)}`), both.some((c) => c.path === path) && badge("you changed it, too", "warn")))),
        ], actions: [{label: "Drop my changes", kind: "danger", value: "theirs"}, {label: "Look at them first", value: null}, {label: "Apply my changes to them", kind: "primary", value: "mine"}]});
        if (answer === null) return this.tellElsewhere(now);
        this.adopt(now);
        if (answer === "mine") for (const {path, to} of mine) set(kept.edited, path, copy(to));
        this.putAll(copy(kept.edited));
        replace(this.elsewhere);
        if (answer === "mine") toast("Your changes are applied to the new settings. Check and save them.", {kind: "info"});
        this.check();
    }

    tellElsewhere(now) {
        const theirs = differences(this.fields, kept.base, now.document);
        replace(this.elsewhere, notice("warn", h("strong", {}, "The settings were changed elsewhere: "), theirs.map(({path}) => titleOf(path)).join(", "), ". Your changes are not saved yet; saving asks what to do."));
    }

    async lookAgain() {
        try {
            const now = await readSettings(this.signal);
            if (now.etag === kept.etag) return;
            if (this.changes().length > 0 || this.wrong.size > 0) return this.tellElsewhere(now);
            this.adopt(now);
            this.putAll(kept.base);
            toast("The settings were changed elsewhere; this page shows the new ones.", {kind: "info"});
        } catch { /* the banner shows the problem */ }
    }
}

function sentence(text) {
    const trimmed = text.trim();
    if (!trimmed) return "";
    return trimmed[0].toUpperCase() + trimmed.slice(1) + (/[.!?)]$/.test(trimmed) ? "" : ".");
}
