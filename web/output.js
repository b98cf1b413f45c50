// output.js -- shows the output of code as it arrives.
//
// Output is untrusted: markup, escape sequences, direction marks, a line of 10 MB, and all of it faster than it can be
// drawn. So it is only shown as text; colours are the only escape sequences that are applied, the others are removed;
// invisible characters are made visible; and the document contains at most the last SHOWN characters. Up to KEPT
// characters are kept for download.
import {h} from "./dom.js";
import {appendMarked, button, bytes, count, download} from "./widgets.js";

const SHOWN = 150000; // characters in the document
const BLOCK = 8000; // characters in one block: adding text causes a new layout of one block only
const KEPT = 64 * 1024 * 1024;
const MARKED = 60; // cost of an element, in characters: for a colour, or for a character that is made visible
const REST = 3; // after rendering, pause this many times as long: the page stays usable during a flood of output

// CSI … letter; OSC, DCS, SOS, PM, APC … up to BEL or ST; other two- and three-byte sequences.
const ESCAPE = /\x1b\[([0-?]*)([ -/]*[@-~])|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-Z\\^-~]|\x9b[0-?]*[ -/]*[@-~]/g;
const UNFINISHED = /\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]{0,4096}\x1b?|[ -/]*)?$/;

// Estimates the cost of rendering: each of these characters may become an element.
const costOf = (text) => text.length + (text.match(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u206f]/g)?.length ?? 0) * MARKED;

const CUBE = [0, 95, 135, 175, 215, 255];

function paletteColour(n) {
    if (n < 16) return `var(--ansi-${n})`;
    if (n >= 232) return `rgb(${Array(3).fill(8 + (n - 232) * 10).join(" ")})`;
    return `rgb(${CUBE[Math.floor((n - 16) / 36)]} ${CUBE[Math.floor((n - 16) / 6) % 6]} ${CUBE[(n - 16) % 6]})`;
}

// Parses "38;5;n" or "38;2;r;g;b" in the numbers from i on; returns [colour, count of numbers used].
function longColour(numbers, i) {
    if (numbers[i] === 5 && numbers[i + 1] < 256) return [paletteColour(numbers[i + 1]), 2];
    if (numbers[i] === 2 && numbers.length > i + 3) return [`rgb(${numbers.slice(i + 1, i + 4).map((n) => Math.min(n, 255)).join(" ")})`, 4];
    return [null, numbers.length];
}

// Returns a new style: the given one changed by a sequence "…m".
function styled(style, text) {
    const numbers = text === "" ? [0] : text.split(/[;:]/).map((n) => Number(n) || 0);
    let next = {...style};
    for (let i = 0; i < numbers.length && i < 64; i++) {
        const n = numbers[i];
        if (n === 0) next = {};
        else if (n === 1) next.bold = true;
        else if (n === 2) next.faint = true;
        else if (n === 3) next.italic = true;
        else if (n === 4) next.underline = true;
        else if (n === 7) next.inverse = true;
        else if (n === 9) next.strike = true;
        else if (n === 22) next.bold = next.faint = false;
        else if (n === 23) next.italic = false;
        else if (n === 24) next.underline = false;
        else if (n === 27) next.inverse = false;
        else if (n === 29) next.strike = false;
        else if (n >= 30 && n <= 37) next.colour = paletteColour(n - 30);
        else if (n >= 90 && n <= 97) next.colour = paletteColour(n - 82);
        else if (n === 39) next.colour = null;
        else if (n >= 40 && n <= 47) next.background = paletteColour(n - 40);
        else if (n >= 100 && n <= 107) next.background = paletteColour(n - 92);
        else if (n === 49) next.background = null;
        else if (n === 38 || n === 48) {
            const [colour, used] = longColour(numbers, i + 1);
            next[n === 38 ? "colour" : "background"] = colour;
            i += used;
        }
    }
    return next;
}

// Returns the text that a line finally shows; a carriage return at its end removes nothing.
function lastOfLine(line) {
    let end = line.length;
    while (end > 0 && line[end - 1] === "\r") end--;
    return end > 0 ? line.slice(line.lastIndexOf("\r", end - 1) + 1, end) : "";
}

const isPlain = (style) => !Object.values(style).some(Boolean);

function spanOf(style) {
    const classes = ["bold", "faint", "italic", "underline", "strike", "inverse"].filter((name) => style[name]).map((name) => `ansi-${name}`);
    const css = {};
    if (style.colour) css.color = style.colour;
    if (style.background && !style.inverse) css["background-color"] = style.background;
    return h("span", {class: classes, style: css});
}

export class OutputView {
    // label: its name for screen readers; name: of the downloaded file.
    constructor({label = "Output", name = "output.txt", placeholder = null} = {}) {
        this.name = name;
        this.note = h("div", {class: "output-note", hidden: true});
        this.body = h("div", {class: "output-body", tabindex: "0", role: "log", "aria-label": label, "aria-live": "off"});
        this.placeholder = placeholder;
        this.element = h("div", {class: "output"}, this.note, this.body);
        this.clear();
    }

    clear() {
        this.kept = []; // [stream, text]
        this.keptLength = this.total = this.dropped = this.shown = 0;
        this.pending = [];
        this.pendingLength = this.rest = 0;
        this.frame ??= null;
        this.streams = {};
        this.blocks = []; // {element, size}
        this.current = null; // {stream, element, size, line: [nodes since the last newline]}
        this.note.hidden = true;
        this.body.replaceChildren();
        if (this.placeholder) this.body.append(this.placeholder);
    }

    get isEmpty() { return this.total === 0; }

    append(stream, text) {
        if (text === "") return;
        this.total += text.length;
        if (this.keptLength < KEPT) {
            this.kept.push([stream, text]);
            this.keptLength += text.length;
        }
        this.pending.push([stream, text]);
        this.pendingLength += text.length;
        if (this.pendingLength > 4 * SHOWN) this.thinOut();
        this.frame ??= setTimeout(() => requestAnimationFrame(() => { if (this.frame !== null) this.flush(); }), this.rest);
    }

    // Returns all kept output unchanged, including escape sequences.
    text(stream = null) {
        return this.kept.filter(([of]) => stream === null || of === stream).map(([, text]) => text).join("");
    }

    // Discards waiting text that would be removed again at once, without rendering it.
    thinOut() {
        let room = SHOWN, first = this.pending.length;
        while (first > 0 && room > 0) {
            const [stream, text] = this.pending[--first], cost = costOf(text);
            if (cost > room) {
                const rest = Math.max(Math.floor(text.length * room / cost), 1);
                this.pending[first] = [stream, text.slice(-rest)];
                this.dropped += text.length - rest;
            }
            room -= cost;
        }
        for (const [, text] of this.pending.splice(0, first)) this.dropped += text.length;
        this.pendingLength = this.pending.reduce((n, [, text]) => n + text.length, 0);
    }

    flush() {
        const begun = performance.now();
        clearTimeout(this.frame);
        this.frame = null;
        const follow = this.body.scrollHeight - this.body.scrollTop - this.body.clientHeight < 40;
        if (this.pending.length > 0) this.placeholder?.remove();
        this.thinOut();
        for (const [stream, text] of this.pending) this.render(stream, text);
        this.pending = [];
        this.pendingLength = 0;
        while (this.shown > SHOWN && this.blocks.length > 1) {
            const oldest = this.blocks.shift();
            oldest.element.remove();
            this.shown -= oldest.size;
            this.dropped += oldest.length;
        }
        this.tellDropped();
        if (follow) this.body.scrollTop = this.body.scrollHeight;
        this.rest = Math.min((performance.now() - begun) * REST, 1000);
    }

    tellDropped() {
        if (this.dropped === 0) return;
        if (this.note.hidden) {
            this.noteText = h("span");
            this.note.replaceChildren(this.noteText, button({label: "Download all", icon: "download", kind: "quiet", onclick: () => this.download()}));
            this.note.hidden = false;
        }
        const beyond = this.total > this.keptLength ? ` What came after the first ${bytes(KEPT)} is not kept.` : "";
        this.noteText.textContent = `The last ${count(Math.min(this.shown, this.total))} of ${count(this.total)} characters are shown.${beyond}`;
    }

    download() {
        download(new Blob(this.kept.map(([, text]) => text)), this.name);
    }

    render(stream, text) {
        const state = this.streams[stream] ??= {style: {}, carry: ""};
        text = state.carry + text;
        const rest = UNFINISHED.exec(text);
        state.carry = rest && rest[0].length < 5000 ? rest[0] : "";
        if (state.carry) text = text.slice(0, text.length - state.carry.length);
        let at = 0;
        for (const match of text.matchAll(ESCAPE)) {
            this.put(stream, text.slice(at, match.index), state.style);
            if (match[2] === "m") state.style = styled(state.style, match[1]);
            at = match.index + match[0].length;
        }
        this.put(stream, text.slice(at), state.style);
    }

    // Adds text without escape sequences. A single carriage return starts the line again, as progress bars do; one at
    // the end waits for the following text, which may arrive later or after an escape sequence.
    put(stream, text, style) {
        if (text === "") return;
        const state = this.streams[stream];
        if (state.again) text = `\r${text}`;
        state.again = text.endsWith("\r");
        if (state.again) text = text.slice(0, -1);
        if (!text.includes("\r")) return this.putPlain(stream, text, style);
        const lines = text.split("\n");
        if (/\r[^\r]/.test(lines[0])) this.restartLine(stream);
        this.putPlain(stream, lines.map(lastOfLine).join("\n"), style);
    }

    restartLine(stream) {
        if (this.current?.stream !== stream) return;
        for (const node of this.current.line) node.remove();
        this.current.line = [];
    }

    putPlain(stream, text, style) {
        for (let at = 0; at < text.length;) {
            const block = this.blockFor(stream);
            let end = Math.min(text.length, at + Math.max(BLOCK - block.size, 200));
            if (end < text.length && (text.charCodeAt(end) & 0xfc00) === 0xdc00) end++; // not within a surrogate pair
            this.putPiece(block, text.slice(at, end), style);
            at = end;
        }
    }

    putPiece(block, piece, style) {
        const parent = isPlain(style) ? document.createDocumentFragment() : spanOf(style);
        const marked = appendMarked(parent, piece);
        const size = piece.length + (marked + (isPlain(style) ? 0 : 1)) * MARKED;
        const before = block.element.lastChild;
        block.element.append(parent);
        block.size += size;
        block.length += piece.length;
        this.shown += size;
        const added = [];
        for (let node = before ? before.nextSibling : block.element.firstChild; node; node = node.nextSibling) added.push(node);
        const newline = piece.lastIndexOf("\n");
        if (newline < 0) return void block.line.push(...added);
        block.line = [];
        // The last line of a plain part is its own node, so that a carriage return can remove it.
        const last = added.at(-1);
        if (newline < piece.length - 1 && last?.nodeType === Node.TEXT_NODE && last.data.includes("\n"))
            block.line = [last.splitText(last.data.lastIndexOf("\n") + 1)];
    }

    blockFor(stream) {
        if (this.current?.stream === stream && this.current.size < BLOCK) return this.current;
        const element = h("div", {class: `out out-${stream}`});
        // A new block begins on a new line; within a long line it continues where the last block ended.
        if (this.current?.stream === stream) element.classList.add("out-more");
        this.body.append(element);
        this.current = {stream, element, size: 0, length: 0, line: []};
        this.blocks.push(this.current);
        return this.current;
    }
}
