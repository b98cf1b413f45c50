// editor.js -- a code editor: a textarea over a coloured copy of its text.
//
// Tab indents and Shift+Tab unindents; Enter keeps the indentation; Ctrl+Enter runs. So that keyboard users can leave
// the editor: after Escape, the next Tab moves the focus.
import {h} from "./dom.js";
import {paint} from "./highlight.js";

let editors = 0; // a notebook has several

// editor({value, language, label, onRun, onChange(value)}): an element with .value, .language, .focus().
export function editor({value = "", language, label, onRun, onChange}) {
    const colours = h("code"), numbers = h("div", {class: "editor-lines", "aria-hidden": "true"});
    const input = h("textarea", {class: "editor-input", spellcheck: "false", autocapitalize: "off", autocomplete: "off", autocorrect: "off", wrap: "off",
        "aria-label": label, value});
    const back = h("pre", {class: "editor-back", "aria-hidden": "true"}, colours);
    const help = `editor-help-${++editors}`;
    input.setAttribute("aria-describedby", help);
    const element = h("div", {class: "editor"}, numbers, h("div", {class: "editor-scroll"}, back, input),
        h("p", {class: "hidden-text", id: help}, "Tab indents. Press Escape and then Tab to leave. Control and Enter runs."));
    let lines = 0, leaving = false;

    function refresh() {
        paint(colours, `${input.value}\n`, language);
        const n = input.value.split("\n").length;
        if (n !== lines) numbers.textContent = Array.from({length: Math.min(n, 10000)}, (_, i) => i + 1).join("\n");
        lines = n;
    }

    // The browser scrolls to the cursor before the coloured copy has grown: scroll again afterwards.
    function reveal() {
        const before = input.value.slice(0, input.selectionEnd), line = before.slice(before.lastIndexOf("\n") + 1);
        const style = getComputedStyle(colours), pencil = document.createElement("canvas").getContext("2d");
        pencil.font = style.font;
        const x = pencil.measureText(line.replaceAll("\t", "    ")).width, y = (before.split("\n").length - 1) * parseFloat(style.lineHeight);
        const wide = element.clientWidth - numbers.offsetWidth - 60, high = element.clientHeight - 60;
        if (x > element.scrollLeft + wide) element.scrollLeft = x - wide;
        else if (x < element.scrollLeft) element.scrollLeft = Math.max(x - 40, 0);
        if (y > element.scrollTop + high) element.scrollTop = y - high;
        else if (y < element.scrollTop) element.scrollTop = y;
    }

    // Uses the browser's editing command, so that Ctrl+Z undoes it.
    function insert(text) {
        if (!document.execCommand("insertText", false, text)) input.setRangeText(text, input.selectionStart, input.selectionEnd, "end");
        refresh();
        reveal();
    }

    function selectedLines() {
        const start = input.value.lastIndexOf("\n", input.selectionStart - 1) + 1;
        let end = input.value.indexOf("\n", Math.max(input.selectionEnd - (input.selectionEnd > input.selectionStart ? 1 : 0), start));
        if (end < 0) end = input.value.length;
        return {start, end, text: input.value.slice(start, end)};
    }

    function replaceLines(change) {
        const {start, end, text} = selectedLines();
        const changed = text.split("\n").map(change).join("\n");
        if (changed === text) return;
        input.setSelectionRange(start, end);
        insert(changed);
        input.setSelectionRange(start, start + changed.length);
    }

    function indent(back) {
        const unit = language === "python" ? "    " : "  ";
        if (back) replaceLines((line) => line.replace(new RegExp(`^(\t| {1,${unit.length}})`), ""));
        else if (input.value.slice(input.selectionStart, input.selectionEnd).includes("\n")) replaceLines((line) => line && unit + line);
        else insert(unit);
    }

    function newline() {
        const line = input.value.slice(input.value.lastIndexOf("\n", input.selectionStart - 1) + 1, input.selectionStart);
        const deeper = /[:{[(]\s*$/.test(line) ? (language === "python" ? "    " : "  ") : "";
        insert(`\n${line.match(/^[ \t]*/)[0]}${deeper}`);
    }

    input.addEventListener("keydown", (event) => {
        const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
        if (event.key === "Escape") {
            leaving = true;
            return;
        }
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            onRun?.();
        } else if (event.key === "Tab" && plain && !leaving) {
            event.preventDefault();
            indent(event.shiftKey);
        } else if (event.key === "Enter" && plain && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            newline();
        }
        if (event.key !== "Shift") leaving = false;
    });
    input.addEventListener("input", () => {
        refresh();
        reveal();
        onChange?.(input.value);
    });
    Object.defineProperty(element, "value", {get: () => input.value, set: (text) => {
        input.value = text;
        input.setSelectionRange(0, 0);
        element.scrollTop = element.scrollLeft = 0;
        refresh();
    }});
    Object.defineProperty(element, "language", {get: () => language, set: (to) => { language = to; refresh(); }});
    element.focus = () => input.focus();
    refresh();
    return element;
}
