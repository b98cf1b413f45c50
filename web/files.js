// files.js -- the files of a sandbox: browse, read, edit, upload, download.
//
// Names and contents are untrusted. Invisible characters in names are made visible; contents are shown as text, or as a
// picture in an <img>, which runs no script.
import {api, append, button, bytes, can, confirm, count, dialog, download, empty, h, icon, notice, plural, problem, released, replace, spinner, stream, timeOf, toast, toastError, visibleText} from "./app.js";
import {editor} from "./editor.js";
import {languageOf} from "./highlight.js";
import {chooseSandbox, sandboxPath, stateBadge, styles} from "./live.js";
import {appendVisible, blobURL, hasUnseen} from "./widgets.js";

export const keep = true; // keep unsaved text while the daemon is unreachable

const TEXT_MAX = 2 << 20, PICTURE_MAX = 32 << 20, SHOWN_MAX = 1000;
const PICTURES = {png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", avif: "image/avif", bmp: "image/bmp"};

const GONE = /^no sandbox |^the sandbox \S+ has ended/; // the sandbox is missing, not a file

const join = (directory, name) => `${directory === "/" ? "" : directory}/${name}`;
const nameOf = (path) => path.slice(path.lastIndexOf("/") + 1);
const parentOf = (path) => path.slice(0, path.lastIndexOf("/")) || "/";
const cannotBeNamed = (name) => name.includes("\ufffd"); // not UTF-8: JSON cannot contain the real name

// Shows a name in one line, whatever it contains.
function nameView(name) {
    const shown = h("span");
    for (const part of name.slice(0, 300).split(/(\n|\t)/))
        if (part === "\n" || part === "\t") shown.append(h("span", {class: "unseen", title: part === "\n" ? "a new line" : "a tab"}, part === "\n" ? "\\n" : "\\t"));
        else appendVisible(shown, part);
    return shown;
}

// Normalises a path that the user has typed: absolute, without "." and "..".
function normal(path) {
    const parts = [];
    for (const part of path.split("/"))
        if (part === "..") parts.pop();
        else if (part !== "" && part !== ".") parts.push(part);
    return `/${parts.join("/")}`;
}

export async function mount(root, {path, query, signal}) {
    await styles("pages.css");
    if (!path[0]) return chooseSandbox(root, {where: "files", title: "Files", text: "The files of a sandbox. Choose one.", signal});
    const browser = new Browser(root, path[0], normal(query.get("path") ?? "/workspace"), signal);
    await browser.open(query.get("file"));
    const warn = (event) => { if (browser.file?.changed) event.preventDefault(); };
    addEventListener("beforeunload", warn);
    const unmount = () => {
        removeEventListener("beforeunload", warn);
        browser.close();
    };
    return Object.assign(unmount, {ask: () => browser.mayLeave()});
}

class Browser {
    constructor(root, id, directory, signal) {
        Object.assign(this, {root, id, directory, signal, file: null});
        this.state = h("span");
        this.name = h("strong", {});
        this.crumbs = h("nav", {class: "crumbs", "aria-label": "Where we are"});
        this.body = h("tbody");
        this.said = h("div", {role: "status"});
        this.pick = h("input", {type: "file", multiple: true, hidden: true, "aria-label": "Files to upload", onchange: () => { this.upload([...this.pick.files]); this.pick.value = ""; }});
        this.table = h("table", {class: "table files-table"}, h("thead", {}, h("tr", {}, ["Name", "Size", "Changed"].map((t) => h("th", {scope: "col"}, t)), h("th", {scope: "col"}, h("span", {class: "hidden-text"}, "Actions")))), this.body);
        this.card = h("section", {class: "card flush files-card", "aria-label": "Files"}, h("div", {class: "files-bar"}, this.crumbs, h("div", {class: "row row-wrap"},
            button({label: "Upload", icon: "upload", onclick: () => this.pick.click()}), button({icon: "file", title: "New file", onclick: () => this.make("file")}),
            button({icon: "folder", title: "New folder", onclick: () => this.make("folder")}), button({icon: "download", title: "Download this folder as a tar archive", onclick: () => this.fetchArchive(this.directory)}), this.pick)),
        this.said, h("div", {class: "table-scroll"}, this.table));
        this.view = h("section", {class: "card flush file-view", "aria-label": "File", hidden: true});
        this.split = h("div", {class: "files"}, this.card, this.view);
        for (const name of ["dragover", "dragenter", "dragleave", "drop"]) this.card.addEventListener(name, (event) => this.drag(event));
    }

    at(what, parameters = {}) {
        return sandboxPath(this.id, `/${what}${Object.keys(parameters).length ? `?${new URLSearchParams(parameters)}` : ""}`);
    }

    close() {
        this.watching?.abort();
        this.file?.forget?.();
    }

    async open(file) {
        replace(this.root, h("div", {class: "page-head"}, h("div", {class: "page-title"}, h("h1", {}, "Files"), this.name, h("span", {class: "mono muted"}, this.id), this.state),
            h("div", {class: "row"}, can("sandbox.exec") && h("a", {class: "button", href: `#/terminal/${this.id}`}, icon("terminal"), "Terminal"), h("a", {class: "button", href: "#/files"}, "Another"))), this.split);
        try {
            const sandbox = await api(sandboxPath(this.id), {signal: this.signal});
            replace(this.state, stateBadge(sandbox.state));
            this.name.textContent = visibleText(sandbox.name ?? "");
            if (sandbox.state === "paused") return void this.paused();
        } catch (error) {
            if (error.status !== 404) throw error;
            return void this.gone(error);
        }
        await this.go(this.directory);
        if (file) await this.show(normal(file));
    }

    gone(error) {
        replace(this.state, stateBadge("stopped"));
        replace(this.split, h("section", {class: "card"}, problem({message: "The sandbox and all its files are gone.", hint: error.message}, h("a", {class: "button", href: "#/files"}, "Choose another"))));
    }

    paused() {
        replace(this.said, h("div", {class: "file-note"}, notice("warn", h("strong", {}, "The sandbox is paused."), h("p", {}, "Its files are available when it is resumed."), can("sandbox.manage") && button({label: "Resume", icon: "play", onclick: async () => {
            try {
                await api(sandboxPath(this.id, "/resume"), {method: "POST"});
                this.open();
            } catch (error) { toastError(error); }
        }}))));
    }

    address() {
        const words = new URLSearchParams({path: this.directory, ...this.file && {file: this.file.path}});
        history.replaceState(null, "", `#/files/${this.id}?${words}`);
    }

    // Shows an error. If the sandbox itself is gone, one message replaces everything.
    fail(error) {
        if (error.kind === "aborted" || error.status === 401) return;
        if (error.status === 404 && GONE.test(error.message)) this.gone(error);
        else toastError(error);
    }

    /* ---- a directory ---- */
    async go(directory) {
        this.directory = directory;
        this.address();
        this.showCrumbs();
        replace(this.body);
        replace(this.said, h("div", {class: "loading"}, spinner()));
        if (await this.list()) this.watch();
    }

    async list({unasked = false} = {}) {
        const asked = this.directory;
        try {
            const answer = await api(this.at("files", {path: asked, list: 1}), {signal: this.signal});
            if (unasked) await released();
            if (asked !== this.directory) return false;
            this.entries = answer.entries;
            this.showEntries(answer);
            return true;
        } catch (error) {
            if (asked !== this.directory || error.kind === "aborted" || error.status === 401) return false;
            if (error.status === 404 && GONE.test(error.message)) return this.gone(error), false;
            replace(this.body);
            replace(this.said, h("div", {class: "file-note"}, problem(error, asked !== "/" && button({label: "Up", onclick: () => this.go(parentOf(asked))}))));
            return false;
        }
    }

    // Shows changes that are made inside the sandbox.
    watch() {
        this.watching?.abort();
        this.watching = new AbortController();
        let timer = null;
        const signal = AbortSignal.any([this.signal, this.watching.signal]);
        stream(this.at("files", {path: this.directory, watch: 1}), {signal, onEvent: ({event}) => {
            if (event === "start") return;
            timer ??= setTimeout(() => { timer = null; if (!signal.aborted) this.list({unasked: true}); }, 150);
        }}).catch(async (error) => {
            if (signal.aborted) return;
            if (error.status === 404) { // the directory or the sandbox
                try { await api(sandboxPath(this.id), {signal}); await this.list(); } catch (e) { if (e.status === 404) this.gone(e); }
            } else if (error.status !== 401) {
                toastError(error);
            }
        });
    }

    showCrumbs() {
        const parts = this.directory.split("/").filter(Boolean);
        const crumbs = [h(parts.length ? "button" : "span", parts.length ? {type: "button", onclick: () => this.go("/")} : {"aria-current": "page"}, "/")];
        parts.forEach((part, i) => {
            const path = `/${parts.slice(0, i + 1).join("/")}`;
            crumbs.push(i > 0 && icon("chevron", 13), i === parts.length - 1 ? h("span", {"aria-current": "page"}, visibleText(part)) : h("button", {type: "button", onclick: () => this.go(path)}, visibleText(part)));
        });
        replace(this.crumbs, crumbs);
    }

    showEntries({entries, truncated}) {
        const focused = this.body.contains(document.activeElement) ? document.activeElement.closest("tr")?.dataset.name : null;
        const sorted = [...entries].sort((a, b) => (b.type === "directory") - (a.type === "directory") || (a.name < b.name ? -1 : 1));
        replace(this.body, this.directory !== "/" && h("tr", {}, h("td", {}, h("button", {type: "button", class: "file-name", title: "The folder above", onclick: () => this.go(parentOf(this.directory))}, icon("folder"), h("span", {}, ".."))), [1, 2, 3].map(() => h("td"))), sorted.slice(0, SHOWN_MAX).map((e) => this.row(e)));
        replace(this.said, entries.length === 0 && empty({icon: "folder", title: "This folder is empty", text: "Drop files here, or upload some."}),
            (truncated || entries.length > SHOWN_MAX) && h("div", {class: "file-note"}, notice("info", `The first ${count(Math.min(entries.length, SHOWN_MAX))} of ${truncated ? "more than " : ""}${count(entries.length)} entries are shown.`)));
        if (focused) [...this.body.rows].find((row) => row.dataset.name === focused)?.querySelector("button")?.focus();
    }

    row(entry) {
        const path = join(this.directory, entry.name), directory = entry.type === "directory", strange = cannotBeNamed(entry.name), title = visibleText(entry.name);
        const act = (label, picture, onclick) => button({icon: picture, kind: "quiet", title: `${label} ${title}`, onclick});
        return h("tr", {dataset: {name: entry.name}, "aria-current": this.file?.path === path ? "true" : null},
            h("td", {}, h("button", {type: "button", class: "file-name", disabled: strange || entry.type === "other", title: strange ? "Its name is not UTF-8: use a terminal" : title, onclick: () => directory ? this.go(path) : this.show(path)},
                icon(directory ? "folder" : "file"), nameView(entry.name), entry.type === "symlink" && h("span", {class: "muted small"}, "link"))),
            h("td", {class: "number muted"}, directory ? "" : bytes(entry.bytes)), h("td", {class: "muted"}, timeOf(entry.modified)),
            h("td", {}, h("div", {class: "row"}, !strange && [act("Download", "download", () => directory ? this.fetchArchive(path) : this.fetchFile(path)), act("Rename", "edit", () => this.rename(path)), act("Delete", "trash", () => this.remove(path, directory))])));
    }

    /* ---- changes ---- */
    ask(title, label, value, action) {
        const input = h("input", {type: "text", id: "ask", value, spellcheck: "false", autocapitalize: "off", onkeydown: (event) => {
            if (event.key !== "Enter") return;
            event.preventDefault(); // otherwise the key would press the element that gets the focus next
            event.currentTarget.closest("dialog").querySelector(".button-primary").click();
        }});
        const answer = dialog({title, body: [h("label", {for: "ask"}, label), input], actions: [{label: "Cancel", value: null}, {label: action, kind: "primary", value: true}]});
        input.focus();
        input.setSelectionRange(0, value.includes(".", 1) ? value.lastIndexOf(".") : value.length);
        return answer.then((yes) => yes && input.value !== "" ? input.value : null);
    }

    async make(what) {
        const name = await this.ask(what === "file" ? "New file" : "New folder", "Name", "", "Make it");
        if (!name) return;
        const path = normal(name.startsWith("/") ? name : join(this.directory, name));
        try {
            if (what === "folder") {
                await api(this.at("files/mkdir"), {method: "POST", body: {path, parents: false}, signal: this.signal});
            } else {
                await api(this.at("files", {path}), {method: "PUT", body: "", headers: {"If-None-Match": "*", "Content-Type": "application/octet-stream"}, signal: this.signal});
                this.show(path);
            }
            this.list();
        } catch (error) {
            if (error.status === 412) toast(`${visibleText(name)} already exists`, {kind: "warn"});
            else this.fail(error);
        }
    }

    async rename(path) {
        const name = await this.ask("Rename", "New name", nameOf(path), "Rename");
        if (!name || name === nameOf(path)) return;
        const to = normal(name.startsWith("/") ? name : join(parentOf(path), name));
        try {
            await api(this.at("files/move"), {method: "POST", body: {from: path, to, replace: false}, signal: this.signal});
            if (this.file?.path === path) this.show(to);
            this.list();
        } catch (error) {
            this.fail(error);
        }
    }

    async remove(path, directory) {
        if (!await confirm({title: `Delete ${visibleText(nameOf(path))}?`, text: directory ? "The folder and its contents are deleted. This cannot be undone." : "This cannot be undone.", action: "Delete"})) return;
        try {
            await api(this.at("files", {path, ...directory && {recursive: 1}}), {method: "DELETE", signal: this.signal});
            if (this.file?.path === path) this.hide();
            this.list();
        } catch (error) {
            this.fail(error);
        }
    }

    drag(event) {
        if (![...event.dataTransfer?.types ?? []].includes("Files")) return;
        event.preventDefault();
        this.card.classList.toggle("drop", event.type === "dragover" || event.type === "dragenter");
        if (event.type === "drop") this.upload([...event.dataTransfer.files]);
    }

    async upload(files) {
        const there = new Set((this.entries ?? []).map((e) => e.name)), doubles = files.filter((f) => there.has(f.name));
        if (doubles.length > 0 && !await confirm({title: "Replace existing files?", text: `${doubles.slice(0, 5).map((f) => visibleText(f.name)).join(", ")}${doubles.length > 5 ? ` and ${doubles.length - 5} more` : ""} ${doubles.length === 1 ? "is" : "are"} in this folder already.`, action: "Replace"})) return;
        const into = this.directory, note = toast(`Uploading ${plural(files.length, "file")}…`, {ms: 0});
        let done = 0;
        for (const file of files) {
            try {
                await api(this.at("files", {path: join(into, file.name)}), {method: "PUT", body: file, headers: {"Content-Type": "application/octet-stream"}, signal: this.signal});
                done++;
            } catch (error) {
                if (error.kind === "aborted") break;
                toast(`${visibleText(file.name)}: ${error.message}`, {kind: "bad", hint: error.hint});
            }
        }
        note.remove();
        if (done > 0) toast(`${plural(done, "file")} uploaded`, {kind: "ok", ms: 2500});
        this.list();
    }

    async fetchFile(path) {
        try {
            const response = await api(this.at("files", {path}), {raw: true, signal: this.signal});
            download(await response.blob(), nameOf(path));
        } catch (error) {
            this.fail(error);
        }
    }

    async fetchArchive(path) {
        try {
            const response = await api(this.at("archive", {path}), {raw: true, signal: this.signal});
            download(await response.blob(), `${nameOf(path) || "root"}.tar`);
        } catch (error) {
            this.fail(error);
        }
    }

    /* ---- one file ---- */
    async mayLeave() {
        return !this.file?.changed || confirm({title: "Leave without saving?", text: `Changes in ${visibleText(nameOf(this.file.path))} are lost.`, action: "Leave it"});
    }

    async hide() {
        if (!await this.mayLeave()) return;
        this.file?.forget?.();
        this.file = null;
        this.view.hidden = true;
        this.split.classList.remove("has-file");
        this.address();
        for (const row of this.body.querySelectorAll("[aria-current]")) row.removeAttribute("aria-current");
        this.body.querySelector("button")?.focus();
    }

    async show(path) {
        if (!await this.mayLeave()) return;
        this.file?.forget?.();
        this.file = {path, changed: false};
        this.address();
        this.view.hidden = false;
        this.split.classList.add("has-file");
        for (const row of this.body.rows) row.toggleAttribute("aria-current", join(this.directory, row.dataset.name ?? "") === path);
        replace(this.view, this.fileHead(path), h("div", {class: "loading"}, spinner()));
        try {
            await this.load(this.file);
        } catch (error) {
            if (error.kind === "aborted" || this.file?.path !== path) return;
            replace(this.view, this.fileHead(path), h("div", {class: "file-note"}, problem(error)));
        }
    }

    fileHead(path, ...actions) {
        return h("header", {class: "file-head"}, h("h2", {class: "mono grow"}, visibleText(nameOf(path))), actions, button({icon: "download", kind: "quiet", title: "Download", onclick: () => this.fetchFile(path)}),
            button({icon: "close", kind: "quiet", title: "Close the file", onclick: () => this.hide()}));
    }

    async load(file) {
        const {path} = file, about = await api(this.at("files/stat"), {method: "POST", body: {path}, signal: this.signal}), picture = PICTURES[path.split(".").at(-1).toLowerCase()];
        const tooLarge = about.type === "file" && about.bytes > (picture ? PICTURE_MAX : TEXT_MAX);
        if (about.type === "directory") return void (this.file = null, this.view.hidden = true, this.split.classList.remove("has-file"), this.go(path));
        if (tooLarge) return void replace(this.view, this.fileHead(path), h("div", {class: "file-note"}, notice("info", `The file has ${bytes(about.bytes)}: too large to be shown here. It can be downloaded.`)));
        const response = await api(this.at("files", {path}), {raw: true, signal: this.signal}), data = new Uint8Array(await response.arrayBuffer());
        if (this.file !== file) return;
        file.etag = response.headers.get("ETag");
        if (picture) return this.showPicture(file, blobURL(new Blob([data]), picture));
        let text = null;
        try { text = data.includes(0) ? null : new TextDecoder("utf-8", {fatal: true, ignoreBOM: true}).decode(data); } catch { /* binary */ }
        if (text === null) return void replace(this.view, this.fileHead(path), h("div", {class: "file-note"}, notice("info", `The file is not text (${bytes(data.length)}). It can be downloaded.`)));
        this.showText(file, text);
    }

    showPicture(file, url) {
        const note = h("div", {class: "file-note"});
        const image = h("img", {class: "file-picture", alt: visibleText(nameOf(file.path)), src: url, onerror: () => replace(note, notice("warn", "The name is that of a picture, but the browser cannot show the content."))});
        file.forget = () => URL.revokeObjectURL(url);
        append(note, image);
        replace(this.view, this.fileHead(file.path), note);
    }

    showText(file, text) {
        file.saved = text.replaceAll("\r\n", "\n");
        file.crlf = text.includes("\r\n");
        const state = h("span", {class: "muted small", role: "status"});
        const save = button({label: "Save", icon: "check", kind: "primary", disabled: true, onclick: () => this.save(file, write, changed)});
        const changed = (said) => {
            file.changed = write.value !== file.saved;
            save.disabled = !file.changed;
            state.textContent = said ?? (file.changed ? "Not saved" : "");
        };
        const write = editor({value: file.saved, language: languageOf(nameOf(file.path)), label: `Contents of ${visibleText(nameOf(file.path))}`, onRun: () => this.save(file, write, changed), onChange: () => changed()});
        write.addEventListener("keydown", (event) => {
            if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
                event.preventDefault();
                this.save(file, write, changed);
            }
        });
        replace(this.view, this.fileHead(file.path, state, save), hasUnseen(text) && h("div", {class: "file-note"}, notice("warn", "The file contains invisible characters, perhaps marks that reverse the direction of text.")), write);
    }

    async save(file, write, changed, force = false) {
        if (!file.changed && !force) return;
        const sent = write.value, body = file.crlf ? sent.replaceAll("\n", "\r\n") : sent;
        try {
            const response = await api(this.at("files", {path: file.path}), {method: "PUT", body, raw: true, signal: this.signal, headers: {"Content-Type": "application/octet-stream", ...!force && file.etag && {"If-Match": file.etag}}});
            file.etag = response.headers.get("ETag") ?? file.etag;
            file.saved = sent;
            changed("Saved");
            this.list();
        } catch (error) {
            if (error.status !== 412) return this.fail(error);
            const what = await dialog({title: "The file was changed meanwhile", body: h("p", {}, `${error.message[0].toUpperCase()}${error.message.slice(1)}. The sandbox or another user wrote it after it was opened here.`),
                actions: [{label: "Cancel", value: null}, {label: "Load theirs", value: "load"}, {label: "Overwrite", kind: "danger", value: "force"}]});
            if (what === "force") await this.save(file, write, changed, true);
            else if (what === "load") {
                file.changed = false;
                await this.show(file.path);
            }
        }
    }
}
