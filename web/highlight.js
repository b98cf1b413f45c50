// highlight.js -- syntax highlighting: a list of patterns per language, tried in order at each position. It is not a
// parser: a mistake only gives a wrong colour. All text becomes text nodes.
import {h} from "./dom.js";

const PLAIN_ABOVE = 60000; // characters: longer code is shown without colours, so that typing stays fast

const words = (text) => new RegExp(`(?:${text.trim().split(/\s+/).join("|")})(?![\\w$])`, "y");
// The patterns never backtrack: hostile code must not be able to make matching slow.
const number = /\.?\d[\w.]*/y;
const name = /[\p{L}_$][\p{L}\p{N}_$]*/yu;
const call = /[\p{L}_$][\p{L}\p{N}_$]*(?=\s*\()/yu;

const python = [
    ["comment", /#[^\n]*/y],
    ["string", /[rbuf]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$))/yi],
    ["string", /[rbuf]{0,2}(?:"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?)/yi],
    ["builtin", /@[\w.]+/y],
    ["keyword", words(`False None True and as assert async await break class continue def del elif else except finally for from global if import in
        is lambda match nonlocal not or pass raise return try while with yield`)],
    ["number", number],
    ["builtin", words(`abs all any bool bytes dict dir enumerate filter float getattr hasattr input int isinstance iter len list map max min next
        object open print range repr reversed round self set sorted str sum super tuple type zip Exception ValueError TypeError KeyError OSError`)],
    ["function", call],
    ["", name],
];

const javascript = [
    ["comment", /\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/y],
    ["string", /"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?|`(?:\\[^]|[^`\\])*`?/y],
    ["keyword", words(`async await break case catch class const continue debugger default delete do else export extends false finally for from
        function get if import in instanceof let new null of return set static super switch this throw true try typeof undefined var void while yield`)],
    ["number", number],
    ["builtin", words("Array Buffer Error JSON Map Math Number Object Promise RegExp Set String Symbol console globalThis module process require")],
    ["function", call],
    ["", name],
];

const shell = [
    ["comment", /(?<![^\s;(])#[^\n]*/y],
    ["string", /\$?'(?:[^'])*'?/y],
    ["string", /"(?:\\[^]|[^"\\])*"?/y],
    ["builtin", /\$(?:\w+|\{[^}\n]*\}?|[@#?$!*-])/y],
    ["keyword", words("case do done elif else esac fi for function if in select then until while")],
    ["function", words(`alias awk break cat cd chmod continue cp curl cut date echo eval exec exit export find grep head kill local ls mkdir mv printf
        pwd read return rm sed set shift sleep sort source tail tar test touch tr trap true false uniq unset wait wc xargs`)],
    ["number", /(?<![\w.-])\d+(?![\w.])/y],
    ["", /[\w./-]+/y],
];

const clike = [
    ["comment", /\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/y],
    ["builtin", /#\s*\w+/y],
    ["string", /"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])'|`[^`]*`?/y],
    ["keyword", words(`as auto bool break case char chan class const continue default defer do double else enum extern final float fn for func go if impl import in
        int interface let long loop map match mod mut namespace new package private pub public range return short signed sizeof static string struct switch template
        this throw trait try type typedef union unsigned use using var void while`)],
    ["number", number],
    ["function", call],
    ["", name],
];

const json = [
    ["function", /"(?:\\[^]|[^"\\\n])*"(?=\s*:)/y],
    ["string", /"(?:\\[^]|[^"\\\n])*"?/y],
    ["keyword", words("true false null")],
    ["number", /-?\d[\d.eE+-]*/y],
];

const LANGUAGES = {python, javascript, shell, clike, json};

// Returns the language of a runtime ("python3.12", "node", "bash") or of a file name; "": unknown.
export function languageOf(what) {
    if (/^(python|pypy)|\.py$/.test(what)) return "python";
    if (/^node|\.[cm]?js$/.test(what)) return "javascript";
    if (/^(ba|z|da)?sh$|\.sh$/.test(what)) return "shell";
    if (/^(c|c\+\+|cpp|go|rust|java)[\d.]*$|\.(c|h|cc|cpp|go|rs|java)$/.test(what)) return "clike";
    return /\.json$/.test(what) ? "json" : "";
}

// Calls each(kind, text) for all parts of the code, in order; kind "": no colour.
export function tokens(code, language, each) {
    const rules = code.length <= PLAIN_ABOVE ? LANGUAGES[language] : undefined;
    if (!rules) return void (code && each("", code));
    let plain = 0, at = 0;
    next: while (at < code.length) {
        for (const [kind, rule] of rules) {
            rule.lastIndex = at;
            const found = rule.exec(code);
            if (!found || found[0] === "") continue;
            if (kind) {
                if (at > plain) each("", code.slice(plain, at));
                each(kind, found[0]);
                plain = at + found[0].length;
            }
            at += found[0].length;
            continue next;
        }
        at++;
    }
    if (plain < code.length) each("", code.slice(plain));
}

// Replaces the content of an element by the coloured code.
export function paint(element, code, language) {
    const parts = document.createDocumentFragment();
    tokens(code, language, (kind, text) => parts.append(kind ? h("span", {class: `hl-${kind}`}, text) : text));
    element.replaceChildren(parts);
}

// Returns an element with read-only code. label: its name for screen readers.
export function codeView(code, language, label = "Code") {
    const element = h("code");
    paint(element, code, language);
    return h("pre", {class: "code", tabindex: "0", role: "region", "aria-label": label}, element);
}
