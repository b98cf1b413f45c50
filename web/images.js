// images.js -- images: list, pull with progress, import an archive, remove, collect what is not used.
import {ApiError, api, append, badge, button, bytes, can, confirm, count, empty, h, icon, plural, replace, spinner, stream, timeOf, toast, toastError, visibleText} from "./app.js";
import {Entries, action, entry, field, form, pageHead} from "./entries.js";
import {shortId, styles} from "./live.js";

const LAYERS = 12; // shown while pulling

export async function mount(root, {signal}) {
    await styles("pages.css");
    const may = can("images");
    const list = new Entries({title: "Images", actions: may && button({label: "Remove unused files", icon: "trash", title: "Removes layers that belong to no image", onclick: collect})});
    const load = async () => {
        const {images} = await api("/v1/images", {signal});
        list.show(images.map((image) => imageEntry(image)), empty({icon: "layers", title: "No images", text: "Without an image, sandboxes see a minimal read-only view of this machine: the image “host”."}));
    };

    function imageEntry(image) {
        const names = image.names ?? [], runtimes = (image.runtimes ?? []).map((r) => r.name);
        const id = String(image.id).replace(/^sha256:/, "").slice(0, 12);
        return entry({id: image.id, title: names[0] ?? id, mono: true, badges: image.platform ? [badge(visibleText(image.platform))] : [], lines: [
            names.length > 1 && `Also: ${names.slice(1).join(", ")}`,
            [bytes(image.bytes), image.files !== undefined && plural(image.files, "file"), id].filter(Boolean).join(" · "),
            image.source && `From ${image.source}`,
            runtimes.length > 0 && `Runtimes: ${runtimes.slice(0, 12).join(", ")}${runtimes.length > 12 ? ` and ${runtimes.length - 12} more` : ""}`,
            h("span", {}, "Added ", timeOf(image.created_ms))],
        actions: may ? (names.length > 0 ? names : [image.id]).slice(0, 6).map((name) => action({label: "Remove", of: names.length > 1 ? `the name ${name}` : name, icon: "trash", kind: "danger",
            onclick: () => remove(name, names.length <= 1)})) : []});
    }

    async function remove(name, last) {
        if (!await confirm({title: "Remove this image?", text: last ? `“${visibleText(name)}” is removed. Sandboxes that use it can go on.` : `The name “${visibleText(name)}” is removed; the image keeps its other names.`, action: "Remove"})) return;
        try {
            await api(`/v1/images/${encodeURIComponent(name)}`, {method: "DELETE", signal});
        } catch (error) {
            toastError(error);
        }
        await load().catch(toastError);
    }

    async function collect(event) {
        const pressed = event.currentTarget;
        pressed.disabled = true;
        try {
            const done = await api("/v1/images/gc", {method: "POST", body: {}, signal});
            toast(`${bytes(done.bytes)} freed: ${plural(done.layers, "layer")}, ${plural(done.roots, "root file system")}`, {kind: "ok"});
        } catch (error) {
            toastError(error);
        }
        pressed.disabled = false;
    }

    append(root, pageHead("Images", "Root file systems of sandboxes. All keys share them."),
        may ? h("div", {class: "split-form"}, list.element, h("div", {class: "stack"}, pullForm(load, signal), importForm(load, signal)))
            : [h("p", {class: "notice"}, icon("key"), h("span", {class: "notice-text"}, "Your key can use images. To pull, import and remove them it needs the capability images.")), list.element]);
    await load();
}

/* ---- pull ---- */
function pullForm(load, signal) {
    const ref = h("input", {type: "text", required: true, maxlength: 512, spellcheck: "false", class: "mono", placeholder: "python:3.12-slim"});
    const platform = h("input", {type: "text", maxlength: 64, spellcheck: "false", class: "mono", placeholder: "this machine"});
    const progress = h("div", {});
    return form({title: "Pull from a registry", label: "Pull", send: async () => {
        const stop = new AbortController(), shown = new Progress(visibleText(ref.value), stop);
        replace(progress, shown.element);
        try {
            await stream("/v1/images", {method: "POST", body: {pull: ref.value.trim(), platform: platform.value.trim() || null}, signal: AbortSignal.any([signal, stop.signal]), onEvent({event, data}) {
                if (event === "progress") shown.progress(data);
                else if (event === "error") throw new ApiError(0, data.error.kind, data.error.message, data.error.hint ?? "");
                else if (event === "done") shown.done = true;
            }});
        } finally {
            replace(progress);
        }
        if (!shown.done) return void toast("The pull was stopped", {kind: "warn", ms: 3000});
        toast(`Pulled ${visibleText(ref.value)}`, {kind: "ok", ms: 3000});
        ref.value = "";
        await load();
    }}, field("Reference", ref, "NAME:TAG, or REGISTRY/NAME@sha256:…. The settings list the registries that are allowed."), field("Platform", platform, "os/architecture, if the image has several."), progress);
}

// One line for each layer, and the sum of all.
export class Progress {
    constructor(name, stop) {
        this.layers = new Map();
        this.bar = h("progress", {"aria-label": `Pulling ${name}`, max: 1});
        this.words = h("span", {class: "muted small grow", role: "status"}, "Asking the registry…");
        this.list = h("ul", {class: "pull-layers muted small"});
        this.element = h("div", {class: "pull"}, h("div", {class: "row"}, spinner("Pulling"), this.words, button({label: "Stop", icon: "stop", onclick: () => stop.abort()})), this.bar, this.list);
        this.frame = null;
    }

    progress({layer, phase, done, total}) {
        this.layers.set(layer, {phase, done, total});
        this.frame ??= requestAnimationFrame(() => { this.frame = null; this.draw(); });
    }

    draw() {
        const all = [...this.layers.entries()], known = all.filter(([, l]) => l.total > 0);
        const sum = (name) => known.reduce((n, [, l]) => n + l[name], 0);
        if (known.length > 0) this.bar.value = Math.min(sum("done") / sum("total"), 1);
        this.words.textContent = `${plural(all.length, "layer")}, ${bytes(all.reduce((n, [, l]) => n + l.done, 0))}${known.length === all.length ? ` of ${bytes(sum("total"))}` : ""}`;
        replace(this.list, all.slice(-LAYERS).map(([layer, l]) => h("li", {}, h("span", {class: "mono"}, visibleText(shortId(layer.replace(/^sha256:/, "")))), ` ${visibleText(l.phase)} `,
            l.total > 0 ? `${Math.round(Math.min(l.done / l.total, 1) * 100)} %` : bytes(l.done))), all.length > LAYERS && h("li", {}, `and ${count(all.length - LAYERS)} more`));
    }
}

/* ---- import ---- */
function importForm(load, signal) {
    const name = h("input", {type: "text", required: true, spellcheck: "false", class: "mono", placeholder: "mine:1"});
    const file = h("input", {type: "file", required: true, accept: ".tar,.gz,.tgz,.zst,.xz,.bz2"});
    const state = h("div", {});
    return form({title: "Import an archive", label: "Import", send: async () => {
        const chosen = file.files[0];
        replace(state, h("div", {class: "row"}, spinner("Importing"), h("span", {class: "muted small", role: "status"}, `Sending and unpacking ${bytes(chosen.size)}…`)));
        try {
            await api(`/v1/images/import?name=${encodeURIComponent(name.value.trim())}`, {method: "POST", body: chosen, headers: {"Content-Type": "application/octet-stream"}, retries: 0, signal});
        } finally {
            replace(state);
        }
        toast(`Imported ${visibleText(name.value)}`, {kind: "ok", ms: 3000});
        name.value = "";
        file.value = "";
        await load();
    }}, field("Name", name), field("Archive", file, "What docker save or cella image save wrote, an OCI archive, or a root file system as tar."), state);
}

