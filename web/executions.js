// executions.js -- the log of executions, newest first: search, live updates, details of one execution.
import {api, append, button, can, clockTime, count, duration, empty, events, h, icon, problem, released, replace, segmented, stream, toastError, visibleText} from "./app.js";
import {ExecutionView} from "./execution.js";
import {styles} from "./live.js";
import {LogList} from "./loglist.js";
import {statusWords} from "./words.js";

export const keep = true; // keep the position in the list while the daemon is unreachable

const PROBLEMS = ["signaled", "timeout", "memory_limit", "disk_limit", "process_limit", "cpu_limit", "output_limit", "interrupted", "refused"];
const STATUSES = ["exited", ...PROBLEMS.slice(0, -2), "cancelled", "interrupted", "refused", "running"];
const labelOf = (status) => statusWords({status, exit_code: 0}).label;

// The filter is part of the address, so that it can be saved and shared: it contains no secrets.
function filterFrom(query) {
    const text = (name) => (query.get(name) ?? "").slice(0, 250);
    return {text: text("text"), agent: text("agent"), session: text("session"), sandbox: text("sandbox"), status: text("status").split(",").filter((s) => STATUSES.includes(s))};
}

function parametersOf(filter) {
    const query = new URLSearchParams();
    for (const name of ["text", "agent", "session", "sandbox"]) if (filter[name]) query.set(name, filter[name]);
    if (filter.status.length > 0) query.set("status", filter.status.join(","));
    return query;
}

export async function mount(root, {path, query, signal}) {
    await styles("pages.css");
    let filter = filterFrom(query), open = path[0] ?? null, follow = null, asked = new AbortController();
    const state = h("span", {class: "muted small", role: "status"});
    const news = button({label: "", icon: "chevron", kind: "primary", class: "button button-primary log-news", hidden: true, onclick: () => { list.element.scrollTop = 0; news.hidden = true; }});
    const nothing = h("div", {class: "log-nothing", hidden: true});
    const detail = h("section", {class: "card detail", "aria-label": "One execution", hidden: true});
    detail.addEventListener("keydown", (event) => { if (event.key === "Escape") view?.options.onClose(); });
    const list = new LogList({label: "Executions, newest first", load, render, onState: tell});
    const bar = new FilterBar(filter, (changed) => { filter = changed; apply(); });
    const following = h("input", {type: "checkbox", id: "follow", onchange: () => setFollow(following.checked)});

    function load(cursor, limit) {
        const parameters = parametersOf(filter);
        parameters.set("limit", limit);
        if (cursor) parameters.set("cursor", cursor);
        return api(`/v1/executions?${parameters}`, {signal: AbortSignal.any([signal, asked.signal])});
    }

    function tell({rows, ended, busy, failed, searched}) {
        state.textContent = failed ? "" : rows === 0 ? busy ? "Loading…" : "" : `${count(rows)}${ended ? "" : "+"} shown${searched && busy ? ", searching on…" : ""}`;
        const filtered = parametersOf(filter).size > 0;
        nothing.hidden = !(failed || (rows === 0 && ended));
        if (failed) replace(nothing, problem(failed, button({label: "Try again", icon: "refresh", onclick: () => list.retry()})));
        else if (!nothing.hidden) replace(nothing, empty(filtered ? {icon: "search", title: "No matching executions", text: "No execution matches the whole filter.",
            action: button({label: "Show all", onclick: () => { bar.clear(); }})} : {icon: "list", title: "Nothing has run yet", text: "Every execution is logged here: the code, the agent, the result and the output.",
            action: can("sandbox.exec") && h("a", {class: "button button-primary", href: "#/try"}, icon("play", 16), "Run something")}));
    }

    function render(row) {
        if (row.gone) return h("div", {class: "log-row log-gone muted"}, "This row was deleted by the retention of the log.");
        const words = statusWords(row), who = [row.agent, row.session].filter(Boolean).map(visibleText).join(" · ");
        return h("a", {class: "log-row", href: `#/executions/${row.id}`, "aria-current": row.id === open ? "true" : null, onclick: (event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            show(row.id);
        }}, h("span", {class: ["log-status", `tone-${words.tone || "none"}`], title: words.label}), h("span", {class: "log-main"},
            h("span", {class: "log-code mono truncate"}, visibleText(firstLine(row)) || h("span", {class: "muted"}, "no code")),
            h("span", {class: "log-about muted truncate"}, row.mode === "host" && h("strong", {class: "log-host"}, "On the host"), row.mode === "host" && " · ", words.label, " · ", visibleText(row.runtime ?? "command"), who && ` · ${who}`)),
        h("span", {class: "log-numbers"}, h("span", {class: "number"}, duration(row.duration_ms)), h("time", {class: "muted number", datetime: row.started, title: new Date(row.started).toLocaleString("en-GB")}, whenOf(row.started))));
    }

    function address() {
        const words = parametersOf(filter).toString();
        history.replaceState(null, "", `#/executions${open ? `/${open}` : ""}${words ? `?${words}` : ""}`);
    }

    function apply() {
        asked.abort();
        asked = new AbortController();
        address();
        news.hidden = true;
        list.reset();
        if (following.checked) setFollow(true);
    }

    let view = null;
    function show(id) {
        open = id;
        address();
        list.select(id);
        view?.close();
        view = null;
        detail.hidden = id === null;
        split.classList.toggle("has-detail", id !== null);
        list.soon();
        if (id === null) return;
        view = new ExecutionView(detail, id, {onClose: () => { const before = open; show(null); (list.drawn.get(before) ?? list.element).focus({preventScroll: true}); },
            onFilter: (change) => { bar.set(change); }, onOther: show, signal});
    }

    // Executions that end while the page is open.
    let unseen = 0, reload = null;
    function setFollow(on) {
        follow?.abort();
        follow = on ? new AbortController() : null;
        following.checked = on;
        if (!on) return;
        const parameters = parametersOf(filter);
        parameters.set("topics", "executions");
        if (filter.status.includes("running")) parameters.delete("status");
        const heard = AbortSignal.any([signal, follow.signal]);
        stream(`/v1/events?${parameters}`, {signal: heard, async onEvent({event, data}) {
            if (event !== "executions") return;
            await released();
            if (heard.aborted) return;
            if (filter.status.includes("running")) return void refresh();
            if (data.missed > 0) return void refresh(); // too many for single events
            const added = list.add(data.executions);
            if (list.element.scrollTop > 80 && added > 0) {
                unseen = news.hidden ? added : unseen + added;
                news.lastChild.textContent = `${count(unseen)} new`;
                news.hidden = false;
            }
        }, onOpen: () => { live.classList.add("live-on"); }, onClosed: () => { live.classList.remove("live-on"); }}).catch(toastError);
    }

    function refresh() {
        reload ??= setTimeout(async () => {
            await released();
            reload = null;
            if (list.element.scrollTop < 80) list.reset();
        }, 1000);
    }

    const live = h("span", {class: "live-dot", "aria-hidden": "true"});
    const split = h("div", {class: "split"}, h("section", {class: "card flush log-card", "aria-label": "The log"}, h("div", {class: "log-hold"}, list.element, nothing, news)), detail);
    list.element.addEventListener("scroll", () => { if (list.element.scrollTop < 80) news.hidden = true; }, {passive: true});
    append(root, h("div", {class: "page-head"}, h("div", {}, h("h1", {}, "Executions"), h("p", {}, "What ran, newest first.")),
        h("div", {class: "row"}, state, h("label", {class: "check", for: "follow"}, following, "Follow live", live))), bar.element, split);
    if (open) show(open);
    const back = () => list.retry();
    events.addEventListener("online", back);
    return () => {
        events.removeEventListener("online", back);
        clearTimeout(reload);
        follow?.abort();
        asked.abort();
        view?.close();
        list.close();
    };
}

function firstLine({preview}) {
    if (!preview) return "";
    let text = preview;
    if (text.startsWith("[\"")) { // a command: show it as typed in a shell
        try { text = JSON.parse(text).map((word) => /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word}'`).join(" "); } catch { /* truncated, or code that looks like a command */ }
    }
    return text.split("\n").find((line) => line.trim() !== "" && !/^\s*(#|\/\/|import |from \S+ import|const .*require)/.test(line)) ?? text.split("\n")[0];
}

const today = () => new Date().toDateString();
function whenOf(when) {
    const date = new Date(when);
    return date.toDateString() === today() ? clockTime(when) : date.toLocaleString("en-GB", {day: "numeric", month: "short", hour: "2-digit", minute: "2-digit"});
}

/* ---- the filter ---- */
class FilterBar {
    constructor(filter, changed) {
        this.filter = filter;
        this.changed = changed;
        const input = (name, placeholder, label) => h("input", {type: name === "text" ? "search" : "text", value: filter[name], placeholder, "aria-label": label, spellcheck: "false", autocapitalize: "off",
            class: `filter-${name}`, maxlength: name === "text" ? 250 : 128, oninput: () => this.soon(name), onkeydown: (event) => { if (event.key === "Enter") this.now(); }});
        this.inputs = {text: input("text", "Search code and output", "Search in code and output"), agent: input("agent", "Agent", "Agent"), session: input("session", "Session", "Session"), sandbox: input("sandbox", "Sandbox", "Sandbox")};
        this.which = segmented({label: "Status", value: "all", options: [{value: "all", label: "All"}, {value: "problems", label: "Problems"}, {value: "running", label: "Running"}, {value: "some", label: "Choose"}], onchange: (value) => this.choose(value)});
        this.boxes = h("fieldset", {class: "filter-statuses", hidden: true}, h("legend", {class: "hidden-text"}, "Statuses"), STATUSES.filter((s) => s !== "running").map((status) =>
            h("label", {class: "check", for: `status-${status}`}, h("input", {type: "checkbox", id: `status-${status}`, value: status, onchange: () => this.pick()}), labelOf(status))));
        this.reset = button({label: "Clear", icon: "close", kind: "quiet", onclick: () => this.clear()});
        this.element = h("div", {class: "filter", role: "search"}, h("div", {class: "filter-row"}, this.inputs.text, this.inputs.agent, this.inputs.session, this.inputs.sandbox, this.which, this.reset), this.boxes);
        this.show();
    }

    show() {
        for (const [name, element] of Object.entries(this.inputs)) if (element.value !== this.filter[name]) element.value = this.filter[name];
        const status = this.filter.status;
        this.which.value = this.choosing ? "some" : status.length === 0 ? "all" : status.join() === "running" ? "running" : status.join() === PROBLEMS.join() ? "problems" : "some";
        this.boxes.hidden = this.which.value !== "some";
        for (const box of this.boxes.querySelectorAll("input")) box.checked = status.includes(box.value);
        this.reset.hidden = parametersOf(this.filter).size === 0;
    }

    set(change) {
        this.filter = {...this.filter, ...change};
        this.show();
        this.changed(this.filter);
    }

    choose(value) {
        this.choosing = value === "some";
        this.set({status: value === "problems" ? PROBLEMS : value === "running" ? ["running"] : value === "some" ? this.filter.status.filter((s) => s !== "running") : []});
    }

    pick() {
        this.set({status: [...this.boxes.querySelectorAll("input:checked")].map((box) => box.value)});
    }

    soon(name) {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.now(), name === "text" ? 300 : 450);
    }

    now() {
        clearTimeout(this.timer);
        const change = Object.fromEntries(Object.entries(this.inputs).map(([name, element]) => [name, element.value.trim()]));
        if (Object.entries(change).some(([name, value]) => value !== this.filter[name])) this.set(change);
    }

    clear() {
        this.choosing = false;
        this.set({text: "", agent: "", session: "", sandbox: "", status: []});
        this.inputs.text.focus();
    }
}
