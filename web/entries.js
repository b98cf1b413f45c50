// entries.js -- shared by the pages about keys, secrets, images, pools and volumes: lists of entries, and forms.
import {button, h, problem, replace, visibleText} from "./app.js";
import {appendVisible} from "./widgets.js";

// Names of capabilities, tiers and limits come from the daemon; everything else in an entry may be text of users.
export const text = (value) => appendVisible(h("span", {}), String(value));

// One entry: a title, badges, lines of details (nodes or strings that are shown as text), and actions.
export function entry({id, title, mono = false, badges = [], lines = [], actions = [], more = []}) {
    return h("li", {class: "entry", dataset: {id}},
        h("div", {class: "entry-main"}, h("div", {class: "row row-wrap"}, appendVisible(h("strong", {class: ["entry-title", mono && "mono"]}), title), badges),
            lines.filter(Boolean).map((line) => h("div", {class: "muted small"}, typeof line === "string" ? text(line) : line))),
        actions.filter(Boolean).length > 0 && h("div", {class: "row row-wrap entry-actions"}, actions), more);
}

// A button of an entry: its name for screen readers and its title also say which entry.
export const action = ({label, of, ...more}) => button({label, title: `${label} ${visibleText(of)}`, "aria-label": `${label} ${visibleText(of)}`, ...more});

// A card with a list; show(entries, what to show if there are none).
export class Entries {
    constructor({title, actions}) {
        this.number = h("span", {class: "muted small"});
        this.list = h("ul", {class: "entries"});
        this.nothing = h("div", {});
        this.element = h("section", {class: "card flush", "aria-label": title}, h("header", {class: "card-head"}, h("h2", {}, title, " ", this.number), actions), this.list, this.nothing);
    }

    show(entries, nothing) {
        // The keyboard focus stays in the entry with the same id, or goes to the next one.
        const focused = this.list.contains(document.activeElement) ? document.activeElement : null;
        const at = focused && [...this.list.children].findIndex((e) => e.contains(focused)), id = focused?.closest(".entry").dataset.id, name = focused?.title || focused?.textContent;
        replace(this.list, entries);
        this.list.hidden = entries.length === 0;
        replace(this.nothing, entries.length === 0 && nothing);
        this.number.textContent = entries.length === 0 ? "" : String(entries.length);
        if (!focused) return;
        const same = [...this.list.children].find((e) => e.dataset.id === id) ?? this.list.children[Math.min(at, entries.length - 1)];
        const buttons = [...same?.querySelectorAll("button, a") ?? []];
        (buttons.find((b) => (b.title || b.textContent) === name) ?? buttons[0])?.focus();
    }
}

let fields = 0;

// A field of a form: label, input and explanation. input: the element, or make(id).
export function field(label, input, help) {
    const id = `field-${++fields}`;
    input.id = id;
    if (help) input.setAttribute("aria-describedby", `${id}-help`);
    return h("div", {class: "form-field"}, h("label", {for: id}, label), input, help && h("p", {class: "muted small", id: `${id}-help`}, help));
}

// A form in a card. send() may throw an ApiError: it is shown in the form, and the form stays as it is.
export function form({title, label, icon, send, class: classes}, ...children) {
    const said = h("div", {role: "alert"}), submit = h("button", {type: "submit", class: "button button-primary"}, label);
    const element = h("form", {class: ["card", "form", classes], "aria-label": title, autocomplete: "off", onsubmit: async (event) => {
        event.preventDefault();
        submit.disabled = true;
        replace(said);
        try {
            await send();
        } catch (error) {
            if (error.kind !== "aborted" && error.status !== 401) replace(said, problem(error));
        }
        submit.disabled = false;
    }}, h("h2", {}, title), children, said, h("div", {class: "row row-wrap"}, submit));
    return element;
}

export const pageHead = (title, about, ...actions) => h("div", {class: "page-head"}, h("div", {}, h("h1", {}, title), h("p", {}, about)), actions.length > 0 && h("div", {class: "row row-wrap"}, actions));
