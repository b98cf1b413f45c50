// dom.js -- creates elements. All output of sandboxes is shown with these functions, so no function here (or in another
// file) parses a string as HTML: text becomes text nodes, and attributes are set one by one.

const SVG = "http://www.w3.org/2000/svg";

// h("button", {class: "primary", onclick: run, disabled: true}, "Run", icon("play"))
//   on...      event listener            class     string, or array of strings and falsy values
//   dataset    object                    style     object of CSS properties (set by CSSOM: the CSP allows that)
//   ref        function(element)         boolean   attribute there or not; null and undefined: left out
//   value, checked, disabled, hidden, open, indeterminate, selected   set as properties
// Children: nodes, strings, numbers, arrays of them; null, undefined and false are left out.
export function h(tag, attributes, ...children) {
    const element = document.createElement(tag);
    fill(element, attributes);
    append(element, children);
    return element;
}

const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "open", "indeterminate", "selected", "readOnly"]);

function fill(element, attributes) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (value === undefined || value === null) continue;
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (name === "class") element.setAttribute("class", Array.isArray(value) ? value.filter(Boolean).join(" ") : value);
        else if (name === "dataset") Object.assign(element.dataset, value);
        else if (name === "style") for (const [p, v] of Object.entries(value)) element.style.setProperty(p, v);
        else if (name === "ref") value(element);
        else if (PROPERTIES.has(name)) element[name] = value;
        else if (value === true) element.setAttribute(name, "");
        else if (value !== false) element.setAttribute(name, value);
    }
}

export function append(parent, ...children) {
    for (const child of children.flat(Infinity)) {
        if (child === null || child === undefined || child === false) continue;
        parent.append(child instanceof Node ? child : String(child));
    }
    return parent;
}

export function replace(parent, ...children) {
    parent.replaceChildren();
    return append(parent, children);
}

// An element that is replaced while it is pressed gets no click event. Code that shows changes on its own initiative
// first waits for released(): nothing is pressed, and the last press has had its click.
const CLICK_MS = {mouse: 0, pen: 50, touch: 50}; // maximum delay of the click after the end of the press
let press = null; // {pointer, over: Promise, end}

function release(ms = 0) {
    const ended = press;
    if (ended) setTimeout(() => { if (press === ended) press = null; ended.end(); }, ms);
}

addEventListener("pointerdown", ({button, isPrimary, pointerId}) => {
    if (button !== 0 || !isPrimary) return;
    press?.end(); // its end was not reported
    press = {pointer: pointerId};
    press.over = new Promise((resolve) => { press.end = resolve; });
}, true);
addEventListener("pointerup", ({pointerId, pointerType}) => { if (press?.pointer === pointerId) release(CLICK_MS[pointerType]); }, true);
addEventListener("pointercancel", ({pointerId}) => { if (press?.pointer === pointerId) release(); }, true);
// A menu, a drag or another window may have taken the end event.
addEventListener("pointermove", ({pointerId, buttons}) => { if (press?.pointer === pointerId && buttons === 0) release(); }, {capture: true, passive: true});
for (const other of ["contextmenu", "dragend"]) addEventListener(other, () => release(), true);
addEventListener("blur", () => release()); // of the window itself

export async function released() {
    while (press) await press.over;
}

// The same for SVG: charts, icons.
export function svg(tag, attributes, ...children) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes ?? {}))
        if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
    return append(element, children);
}

// Icons are drawn on 24 x 24, with strokes of 1.75.
const ICONS = {
    play: ["M7 5v14l12-7z"],
    stop: ["M6.5 6.5h11v11h-11z"],
    pause: ["M8.5 5v14", "M15.5 5v14"],
    sliders: ["M4 7h9", "M17 7h3", "M15 5v4", "M4 17h3", "M11 17h9", "M9 15v4"],
    pulse: ["M3 12h4l3-8 4 16 3-8h4"],
    list: ["M8 6h12", "M8 12h12", "M8 18h12", "M4 6h.01", "M4 12h.01", "M4 18h.01"],
    terminal: ["M4 5h16v14H4z", "M8 10l3 2.5L8 15", "M13 15h3.5"],
    folder: ["M3.5 6.5h6l2 2.5h9v9.5h-17z"],
    file: ["M7 3.5h7l4 4v13H7z", "M14 3.5v4h4"],
    key: ["M8 11.5a4 4 0 1 0 0 8 4 4 0 0 0 0-8z", "M10.9 12.6L19.5 4", "M16 7.5l3 3"],
    sun: ["M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z", "M12 3v1.5", "M12 19.5V21", "M3 12h1.5", "M19.5 12H21", "M5.6 5.6l1.1 1.1", "M17.3 17.3l1.1 1.1", "M5.6 18.4l1.1-1.1", "M17.3 6.7l1.1-1.1"],
    moon: ["M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z"],
    screen: ["M4 5h16v11H4z", "M9 20h6", "M12 16v4"],
    close: ["M6 6l12 12", "M18 6L6 18"],
    check: ["M5 12.5l4.5 4.5L19 7"],
    alert: ["M12 4l9 16H3z", "M12 10v4.5", "M12 17.2h.01"],
    info: ["M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z", "M12 11v5", "M12 8h.01"],
    shield: ["M12 3.5l7.5 3v5c0 4.5-3 7.5-7.5 9-4.5-1.5-7.5-4.5-7.5-9v-5z"],
    download: ["M12 4v11", "M7.5 11l4.5 4.5 4.5-4.5", "M4.5 19.5h15"],
    upload: ["M12 16V5", "M7.5 9.5L12 5l4.5 4.5", "M4.5 19.5h15"],
    refresh: ["M19.5 12a7.5 7.5 0 1 1-2.2-5.3", "M19.5 4v4h-4"],
    undo: ["M8 5L4 9l4 4", "M4 9h10a5.5 5.5 0 0 1 0 11h-3"],
    plus: ["M12 5v14", "M5 12h14"],
    trash: ["M4.5 7h15", "M9 7V4.5h6V7", "M6.5 7l1 12.5h9l1-12.5"],
    copy: ["M9 9h11v11H9z", "M15 9V4H4v11h5"],
    search: ["M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13z", "M15.5 15.5L20 20"],
    chevron: ["M9 6l6 6-6 6"],
    more: ["M6 12h.01", "M12 12h.01", "M18 12h.01"],
    layers: ["M12 4l8.5 4.5L12 13 3.5 8.5z", "M3.5 12.5L12 17l8.5-4.5", "M3.5 16.5L12 21l8.5-4.5"],
    disk: ["M4 6.5c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3z", "M4 6.5v11c0 1.7 3.6 3 8 3s8-1.3 8-3v-11", "M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3"],
    book: ["M6 3.5h12v17H6z", "M9.5 3.5v17", "M12.5 8h3", "M12.5 11.5h3"],
    lock: ["M6 11h12v9H6z", "M8.5 11V8a3.5 3.5 0 0 1 7 0v3", "M12 14.5v2"],
    clock: ["M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z", "M12 7.5V12l3 2"],
    box: ["M12 3.5l8 4.5v8l-8 4.5-8-4.5V8z", "M4 8l8 4.5L20 8", "M12 12.5v8"],
    offline: ["M4 4l16 16", "M8.5 15.5a5 5 0 0 1 7 0", "M5.5 12.5a9.5 9.5 0 0 1 4-2.3", "M14.5 10.2a9.5 9.5 0 0 1 4 2.3", "M12 19h.01"],
    exit: ["M10 4.5H5v15h5", "M15 8l4 4-4 4", "M19 12H9.5"],
    edit: ["M4.5 19.5l1-4.5L16 4.5l3.5 3.5L9 18.5z"],
};

// Icons are hidden from screen readers: give the button an aria-label.
export function icon(name, size = 18) {
    return svg("svg", {viewBox: "0 0 24 24", width: size, height: size, class: `icon icon-${name}`, "aria-hidden": "true"},
        (ICONS[name] ?? ICONS.info).map((d) => svg("path", {d})));
}
