// execution.js -- all details of one execution: code, result, output, violations; and running it again.
import {ApiError, api, append, badge, button, bytes, can, confirm, copyText, count, duration, go, h, icon, notice, problem, replace, spinner, stream, timeOf, toastError, visibleText} from "./app.js";
import {codeView, languageOf} from "./highlight.js";
import {shortId} from "./live.js";
import {OutputView} from "./output.js";
import {appendVisible} from "./widgets.js";
import {statusWords, violationTitle, violationWords} from "./words.js";

const DRAFT = "cella.try"; // key of the draft of "Try it"
const TRIES = [["python", /^(python|pypy)/], ["node", /^node/], ["shell", /^(ba|da|z)?sh/]];
const SUPPORTED = (runtime) => TRIES.find(([, match]) => match.test(runtime ?? ""))?.[0];

// Returns the request to run it again; null: the log does not contain all of it.
function requestOf({runtime, input, input_truncated: cut}) {
    if (cut || input === null || input === undefined) return null;
    if (runtime) return {runtime, code: input};
    try {
        const command = JSON.parse(input);
        return Array.isArray(command) && command.length > 0 ? {command} : null;
    } catch {
        return null;
    }
}

export class ExecutionView {
    // onClose(), onFilter({agent}), onOther(id)
    constructor(root, id, options) {
        this.root = root;
        this.id = id;
        this.options = options;
        this.leave = new AbortController();
        this.signal = AbortSignal.any([options.signal, this.leave.signal]);
        this.head = h("header", {class: "detail-head"});
        this.body = h("div", {class: "detail-body stack"}, h("div", {class: "loading"}, spinner()));
        replace(root, this.head, this.body);
        this.load();
    }

    close() { this.leave.abort(); }

    async load() {
        replace(this.head, this.closeButton(), h("h2", {class: "mono grow truncate"}, this.id));
        try {
            this.show(await api(`/v1/executions/${encodeURIComponent(this.id)}`, {signal: this.signal}));
        } catch (error) {
            if (error.kind === "aborted" || this.signal.aborted) return;
            replace(this.body, error.status === 404 ? notice("warn", h("strong", {}, "There is no such execution."), h("p", {}, "It is older than the retention of the log, or it belongs to another key."))
                : problem(error, button({label: "Try again", icon: "refresh", onclick: () => this.load()})));
        }
    }

    closeButton() {
        return button({icon: "close", kind: "quiet", title: "Close", class: "button button-quiet button-icon detail-close", onclick: () => this.options.onClose()});
    }

    show(row) {
        const words = statusWords(row), request = requestOf(row), running = row.status === "running";
        replace(this.head, badge(words.label, words.tone), h("h2", {class: "mono grow truncate", title: row.id}, shortId(row.id)),
            button({icon: "copy", kind: "quiet", title: "Copy the id", onclick: () => copyText(row.id)}), this.closeButton());
        this.result = h("div", {class: "again"});
        replace(this.body, this.actions(row, request, running), row.status !== "exited" && !running && notice(words.tone === "bad" ? "bad" : "warn", words.text, row.error && appendVisible(h("p"), row.error.message)),
            row.mode === "host" && row.status !== "refused" && notice("warn", h("strong", {}, "It ran on the host, not in a sandbox."), row.reason && appendVisible(h("p"), row.reason)), this.result, this.facts(row),
            this.code(row, request), this.output(row, "stdout", "Output"), this.output(row, "stderr", "Errors"), this.violations(row.violations ?? []), this.about(row));
        if (running) this.watch(row);
    }

    actions(row, request, running) {
        const buttons = [
            running && can("sandbox.exec") && button({label: "Stop it", icon: "stop", kind: "danger", onclick: () => this.stop()}),
            !running && can("sandbox.exec") && request && button({label: "Run again", icon: "refresh", kind: "primary", onclick: (event) => this.again(request, event.currentTarget)}),
            can("sandbox.exec") && request?.code !== undefined && SUPPORTED(row.runtime) && button({label: "Open in Try it", icon: "edit", onclick: () => this.tryIt(row, request)}),
            request && button({label: "Copy", icon: "copy", onclick: () => copyText(row.input)})].filter(Boolean);
        return buttons.length > 0 && h("div", {class: "row row-wrap"}, buttons);
    }

    facts({duration_ms: took, usage, exit_code: code, signal, started, stdout_bytes: out, stderr_bytes: err, status}) {
        const fact = (name, value) => value !== null && value !== undefined && value !== false && h("div", {class: "fact"}, h("dt", {}, name), h("dd", {}, value));
        return h("dl", {class: "fact-list"}, fact("Began", started && timeOf(started)), fact("Took", took !== undefined && duration(took)), fact("CPU", usage && duration(usage.cpu_ms)),
            fact("Memory", usage?.memory_peak_bytes > 0 && bytes(usage.memory_peak_bytes)), fact("Processes", usage?.processes_peak > 0 && count(usage.processes_peak)),
            fact("Exit code", status !== "running" && (code ?? "–")), fact("Signal", signal), fact("Printed", out !== undefined && bytes(out + err)));
    }

    code({runtime, input, input_bytes: size, input_truncated: cut}, request) {
        if (input === null || input === undefined) return null;
        const text = request?.command ? request.command.map((word) => /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`).join(" ") : input;
        return h("section", {}, h("h3", {}, runtime ? `Code, ${visibleText(runtime)}` : "Command"), marked(text, languageOf(runtime ?? "sh"), "Code"),
            cut && h("p", {class: "muted small"}, `The log keeps the first 64 KiB of ${bytes(size)}, so it cannot be run again from here.`));
    }

    output(row, stream_, title) {
        const text = row[stream_], size = row[`${stream_}_bytes`];
        if (row.status === "running" || size === 0) return null;
        if (text === null || text === undefined) return size > 0 && h("section", {"aria-label": title}, h("h3", {}, title), h("p", {class: "muted small"}, `${bytes(size)}, not kept: the setting audit.keep_output is off.`));
        const view = new OutputView({label: title, name: `${row.id}-${stream_}.txt`});
        view.append(stream_, text);
        view.flush();
        return h("section", {class: "detail-output", "aria-label": title}, h("h3", {}, title, " ", h("span", {class: "muted small"}, bytes(size))), h("div", {class: "framed"}, view.element),
            row[`${stream_}_truncated`] && h("p", {class: "muted small"}, "The log keeps the first and the last 32 KiB."));
    }

    violations(list) {
        return list.length > 0 && h("section", {class: "found", "aria-label": "What was refused"}, h("h3", {}, icon("shield", 16), `The sandbox refused ${list.length === 1 ? "one thing" : `${count(list.length)} things`}`),
            h("ul", {}, list.slice(0, 200).map((v) => h("li", {}, badge(violationTitle(v.kind), "warn"), appendVisible(h("span"), violationWords(v))))));
    }

    about(row) {
        const filter = (name, label) => row[name] && h("div", {class: "fact"}, h("dt", {}, label), h("dd", {class: "fact-link"}, h("button", {type: "button", class: "link mono", title: `Show all of this ${label.toLowerCase()}`,
            onclick: () => this.options.onFilter({[name]: row[name]})}, visibleText(row[name].length > 40 ? `${row[name].slice(0, 40)}…` : row[name]))));
        const fact = (name, value) => value && h("div", {class: "fact"}, h("dt", {}, name), appendVisible(h("dd"), value));
        const more = (list, shown) => list && `${shown.slice(0, 20).join(", ")}${list.count > Math.min(shown.length, 20) ? ` and ${count(list.count - Math.min(shown.length, 20))} more` : ""}`;
        return h("dl", {class: "fact-list"}, fact("Ran", row.mode === "host" ? "on the host" : row.mode), fact("Engine", row.engine), fact("Image", row.image), fact("Network", row.tier), fact("Key name", row.key_name),
            fact("Arguments", more(row.args, row.args?.list ?? [])), fact("Variables", more(row.env_names, row.env_names?.list ?? [])), fact("Files given", more(row.input_files, (row.input_files?.list ?? []).map((f) => `${f.path} (${bytes(f.bytes)})`))),
            fact("Input", row.stdin && bytes(row.stdin.bytes)), fact("Findings", row.scan && more(row.scan, row.scan.findings.map((f) => `line ${f.line}: ${f.rule}`))), filter("agent", "Agent"), filter("session", "Session"), filter("sandbox", "Sandbox"), row.key && h("div", {class: "fact"}, h("dt", {}, "Key"), h("dd", {class: "mono"}, visibleText(row.key))),
            row.row && h("div", {class: "fact"}, h("dt", {}, "Row of the log"), h("dd", {title: `hash ${row.hash}`}, count(row.row))));
    }

    // The execution is still running: an event reports its end.
    watch() {
        replace(this.result, notice("info", h("span", {class: "row"}, spinner("Running"), "It is still running. Its output is in the log when it has ended.")));
        const ended = new AbortController(), signal = AbortSignal.any([this.signal, ended.signal]);
        const check = ({event, data}) => {
            if (event === "executions" && (data.missed > 0 || data.executions.some((row) => row.id === this.id))) {
                ended.abort();
                this.load();
            }
        };
        stream("/v1/events?topics=executions", {signal, onEvent: check}).catch(toastError);
    }

    async stop() {
        try {
            await api(`/v1/executions/${encodeURIComponent(this.id)}`, {method: "DELETE", signal: this.signal});
        } catch (error) {
            toastError(error);
        }
    }

    tryIt(row, request) {
        const language = SUPPORTED(row.runtime);
        try {
            const draft = JSON.parse(sessionStorage.getItem(DRAFT)) ?? {};
            sessionStorage.setItem(DRAFT, JSON.stringify({...draft, language, code: {...draft.code, [language]: request.code}}));
        } catch { /* then the previous draft is shown */ }
        go("try");
    }

    // Runs the same code in a new sandbox, without the variables, files and secrets of the first one.
    async again(request, pressed) {
        if (request.command && !await confirm({title: "Run this command again?", text: `${request.command.join(" ").slice(0, 200)} — in a new sandbox, without the files of the first.`, action: "Run it", kind: "primary"})) return;
        pressed.disabled = true;
        const view = new OutputView({label: "Output of the new run"}), head = h("div", {class: "row row-wrap"}, spinner("Running"), h("h3", {}, "Running again…"));
        replace(this.result, h("section", {class: "framed", "aria-label": "Run again"}, h("div", {class: "try-bar"}, head), view.element));
        let id = null;
        try {
            await stream("/v1/exec", {method: "POST", body: request, signal: this.signal, onBusy: (s) => replace(head, spinner("Waiting"), h("h3", {}, `No room: trying again in ${Math.ceil(s)} s`)), onEvent: ({event, data}) => {
                if (event === "start") id = data.id;
                else if (event === "stdout" || event === "stderr") view.append(event, data.text);
                else if (event === "error") throw new ApiError(0, data.error.kind, data.error.message, data.error.hint ?? "");
                else if (event === "exit") {
                    const words = statusWords(data);
                    replace(head, badge(words.label, words.tone), h("h3", {class: "grow"}, `Ran again in ${duration(data.duration_ms)}`), id && button({label: "Show it", kind: "quiet", icon: "chevron", onclick: () => this.options.onOther(id)}));
                    view.flush();
                    if (view.isEmpty) view.body.append(h("p", {class: "muted small"}, "It printed nothing."));
                }
            }});
        } catch (error) {
            if (!this.signal.aborted) replace(this.result, problem(error));
        }
        pressed.disabled = false;
    }
}

// Shows code with its invisible characters marked: direction marks can disguise a program.
function marked(text, language, label) {
    const element = codeView(text, language, label);
    for (const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), nodes = []; ;) {
        const node = walker.nextNode();
        if (node) { nodes.push(node); continue; }
        for (const found of nodes) {
            const parts = document.createDocumentFragment();
            appendVisible(parts, found.data);
            if (parts.childNodes.length > 1 || parts.firstChild?.nodeType !== Node.TEXT_NODE) found.replaceWith(parts);
        }
        return element;
    }
}
