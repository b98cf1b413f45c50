// results.js -- shows the results of code: pictures, tables, values.
//
// All of it is untrusted. A picture is shown in an <img>, in which an SVG runs no script and loads nothing. Its address
// is a blob: URL or, for an SVG, a data: URL: opened in its own tab, that has an opaque origin and cannot access the
// page or the API. Of HTML, the text of its tables is copied cell by cell into a new table; everything else is shown as
// text.
import {codeView} from "./highlight.js";
import {h} from "./dom.js";
import {appendVisible, blobURL, button, bytes, download, notice, plural, visibleText} from "./widgets.js";

const ROWS = 200, COLUMNS = 60, CELL = 500, TEXT = 20000;
const HTML = 2 << 20; // characters: parsing more would block the page for too long
const ORDER = ["image/png", "image/jpeg", "image/svg+xml", "text/html", "application/json", "text/plain"];
const ENDING = {__proto__: null, "image/png": "png", "image/jpeg": "jpg", "image/svg+xml": "svg", "text/html": "html", "application/json": "json", "application/pdf": "pdf",
    "text/markdown": "md", "text/latex": "tex", "text/plain": "txt"};
const BINARY = new Set(["image/png", "image/jpeg", "application/pdf"]);

const textOf = (data) => typeof data === "string" ? data : JSON.stringify(data);

function blobOf({mime, data}) {
    if (!BINARY.has(mime)) return new Blob([textOf(data)]);
    let text;
    try { text = atob(data); } catch { return new Blob([String(data)]); } // not base64
    const raw = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) raw[i] = text.charCodeAt(i);
    return new Blob([raw]);
}

/* ---- tables ---- */
let inert = null;

// Parses into a document that is not shown: nothing in it runs or is loaded.
function parse(html) {
    inert ??= window.trustedTypes?.createPolicy("cella-inert", {createHTML: (text) => text}) ?? {createHTML: (text) => text};
    return new DOMParser().parseFromString(inert.createHTML(html), "text/html");
}

const span = (value) => Math.min(Math.max(Number(value) || 1, 1), COLUMNS);

function cellOf(from) {
    const tag = from.localName === "th" ? "th" : "td";
    const wide = span(from.getAttribute("colspan")), high = span(from.getAttribute("rowspan"));
    const text = from.textContent.trim();
    const cell = h(tag, {colspan: wide > 1 ? wide : null, rowspan: high > 1 ? high : null, class: /^[-+\d.,%eE\s]+$/.test(text) && text ? "number" : null});
    appendVisible(cell, text.length > CELL ? `${text.slice(0, CELL)}…` : text);
    return cell;
}

function tableOf(from) {
    const rows = [...from.rows];
    const section = (list) => list.map((row) => h("tr", {}, [...row.cells].slice(0, COLUMNS).map(cellOf)));
    const isHead = (row) => row.parentElement.localName === "thead", head = rows.filter(isHead), body = rows.filter((row) => !isHead(row));
    const wider = Math.max(...rows.slice(0, ROWS).map((row) => row.cells.length)) > COLUMNS;
    const left = [body.length > ROWS && plural(body.length - ROWS, "more row"), wider && "more columns"].filter(Boolean);
    return h("figure", {class: "result-table"},
        h("div", {class: "table-scroll", tabindex: "0", role: "region", "aria-label": "Table"}, h("table", {class: "table"},
            head.length > 0 && h("thead", {}, section(head.slice(0, 10))), h("tbody", {}, section(body.slice(0, ROWS))))),
        left.length > 0 && h("figcaption", {class: "muted small"}, `${left.join(", ")} not shown.`));
}

function htmlView(data) {
    if (data.length > HTML) return [notice("info", "This HTML is too long to be shown. It can be downloaded.")];
    const tables = [...parse(data).querySelectorAll("table")].filter((t) => t.rows.length > 0 && !t.parentElement.closest("table"));
    if (tables.length > 0) return tables.slice(0, 8).map(tableOf);
    return [notice("info", "HTML is not run on this page. Its source:"), codeView(data.slice(0, TEXT), "", "HTML")];
}

/* ---- other types ---- */
function imageView(form, owner) {
    const url = form.mime === "image/svg+xml" ? `data:image/svg+xml,${encodeURIComponent(textOf(form.data).toWellFormed())}` : blobURL(blobOf(form), form.mime);
    owner.urls.push(url);
    const image = h("img", {class: "result-image", src: url, alt: "A picture that the code made", onerror: () => image.replaceWith(notice("warn", "This picture cannot be shown."))});
    return image;
}

function textView(data) {
    const text = typeof data === "string" ? data : JSON.stringify(data, null, 2);
    return h("pre", {class: "result-text", tabindex: "0", role: "region", "aria-label": "Value"}, appendVisible(h("code"), text.length > TEXT ? `${text.slice(0, TEXT)}…` : text));
}

function jsonView(data) {
    let text = data;
    try { text = JSON.stringify(typeof data === "string" ? JSON.parse(data) : data, null, 2); } catch { /* then it is shown unchanged */ }
    return codeView(text.slice(0, TEXT), "json", "JSON");
}

function formView(form, owner) {
    if (form.mime.startsWith("image/")) return imageView(form, owner);
    if (form.mime === "text/html") return htmlView(form.data);
    if (form.mime === "application/json") return jsonView(form.data);
    if (form.mime === "application/pdf") return notice("info", "A PDF document.");
    return textView(form.data);
}

// Shows all results of a run; representations of one value are grouped. owner.urls collects the URLs that release()
// revokes.
export class ResultsView {
    constructor() {
        this.element = h("div", {class: "results"});
        this.clear();
    }

    clear() {
        for (const url of this.urls ?? []) URL.revokeObjectURL(url);
        this.urls = [];
        this.values = new Map();
        this.element.replaceChildren();
    }

    get isEmpty() { return this.values.size === 0; }

    add(result) {
        const forms = this.values.get(result.value) ?? [];
        forms.push(result);
        this.values.set(result.value, forms);
        const best = [...forms].sort((a, b) => this.rank(a) - this.rank(b))[0];
        const view = this.one(best, forms);
        const before = this.element.querySelector(`:scope > [data-value="${Number(result.value)}"]`);
        if (before) before.replaceWith(view);
        else this.element.append(view);
    }

    rank({mime}) {
        const i = ORDER.indexOf(mime);
        return i < 0 ? ORDER.length - 1.5 : i;
    }

    one(best, forms) {
        const save = best.mime === "text/plain" ? null : button({icon: "download", kind: "quiet", title: `Download as ${ENDING[best.mime] ?? best.mime}`,
            onclick: () => download(blobOf(best), `result.${ENDING[best.mime] ?? "bin"}`)});
        return h("div", {class: ["result", best.main && "result-main"], dataset: {value: String(Number(best.value))}},
            h("div", {class: "result-head small muted"}, h("span", {}, best.main ? "Value" : best.path ? visibleText(best.path) : "Shown", best.mime === "text/plain" ? "" : ` · ${best.mime} · ${bytes(best.data?.length ?? 0)}`), save),
            formView(best, this));
    }
}
