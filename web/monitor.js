// monitor.js -- the state of the daemon: health of its parts, charts of the last two minutes, the current sandboxes.
// Everything arrives as events; there is no polling.
import {api, append, badge, button, bytes, can, confirm, copyText, count, duration, empty, h, icon, plural, replace, segmented, timeOf, toast, toastError, visibleText} from "./app.js";
import {Chart} from "./chart.js";
import {labels, ownerOf, sandboxPath, shortId, stateBadge, styles, watchSandboxes} from "./live.js";

export const keep = true; // the charts continue after an interruption

const perSecond = (n) => n >= 100 ? count(Math.round(n)) : n >= 10 ? n.toFixed(0) : n.toFixed(1).replace(/\.0$/, "");

export async function mount(root, {signal}) {
    await styles("pages.css");
    const live = h("span", {class: "live", role: "status"});
    const setLive = (on) => replace(live, h("span", {class: ["live-dot", on && "live-on"]}), on ? "Live" : "Reconnecting…");
    const charts = {
        rate: new Chart({title: "Executions a second", series: [{name: "executions", tone: "a"}], format: perSecond, atLeast: 1}),
        latency: new Chart({title: "Time an execution takes", series: [{name: "p50", tone: "a"}, {name: "p99", tone: "b"}], format: duration}),
        sandboxes: new Chart({title: "Sandboxes", series: [{name: "alive", tone: "a"}, {name: "paused", tone: "b"}], format: (n) => count(Math.round(n)), atLeast: 4}),
        memory: new Chart({title: "Memory", series: [{name: "sandboxes", tone: "a"}, {name: "daemon", tone: "b"}], format: bytes, base: 2, atLeast: 32 << 20}),
    };
    const health = h("div", {class: "health-now"}), walls = new Walls(), log = can("audit") ? new LogCheck(signal) : null;
    const table = new SandboxTable();
    setLive(false);
    let recorded = null;
    const spans = segmented({label: "Time span of the charts", value: "live", options: [{value: "live", label: "Two minutes"}, {value: "hour", label: "Last hour", title: "As recorded by the daemon, also while no page was open"}], onchange: showSpan});
    spans.hidden = true; // until the daemon sends what it has recorded: not for every key
    function showSpan() {
        const hour = spans.value === "hour" && recorded ? hourOf(recorded) : {rate: null, latency: null, sandboxes: null};
        for (const [name, points] of Object.entries(hour)) charts[name].showHour(points);
        charts.memory.element.hidden = spans.value === "hour"; // it is not recorded
    }
    append(root, h("div", {class: "page-head"}, h("div", {}, h("h1", {}, "Monitor"), h("p", {}, "The current activity of the daemon.")), h("div", {class: "row row-wrap"}, spans, live)),
        h("div", {class: "charts"}, Object.values(charts).map((c) => c.element)),
        h("section", {class: "card flush", "aria-label": "Sandboxes"}, h("header", {class: "card-head"}, h("h2", {}, "Sandboxes"), table.number), table.element),
        h("section", {class: "card", "aria-label": "Health"}, h("header", {class: "card-head"}, h("h2", {}, "Health")), h("div", {class: "health"}, health, walls.element, log?.element)));

    let latest = null;
    function snapshot(data) {
        const time = Date.parse(data.time), {rates, health: now} = data;
        charts.rate.push(time, [rates.executions_per_second]);
        charts.latency.push(time, [rates.latency_p50_ms, rates.latency_p99_ms]);
        charts.sandboxes.push(time, [now.sandboxes.running + now.sandboxes.paused, now.sandboxes.paused]);
        charts.memory.push(time, [table.memory(), data.memory.server_bytes]);
        const shown = JSON.stringify({...now, uptime_ms: Math.floor(now.uptime_ms / 10000), disk: Math.round(now.disk?.free_bytes / 1e8)});
        if (shown !== latest) replace(health, healthView(data));
        latest = shown;
        if (now.engines?.native?.layers) walls.show(now.engines.native);
    }
    watchSandboxes({signal, changed: (all) => table.show(all), onOpen: () => setLive(true), onClosed: () => setLive(false), onEvent({event, data}) {
        if (event === "snapshot") snapshot(data);
        else if (event === "history") {
            recorded = data;
            spans.hidden = false;
            if (spans.value === "hour") showSpan();
        }
        else if (event === "usage") table.usage(data);
    }}).catch((error) => { setLive(false); toastError(error); });
    const clock = setInterval(() => table.tick(), 10000);
    return () => {
        clearInterval(clock);
        for (const chart of Object.values(charts)) chart.close();
    };
}

/* ---- health ---- */
const ENGINES = {native: "Cella's own engine", docker: "Docker or Podman", podman: "Podman"};
const LAYERS = {
    user: "User namespace: inside, code may be root; outside, it is a user without any rights. Code that gets out of another wall has no more rights than nobody.",
    pid: "Process namespace: code sees only its own processes. It cannot send signals to others or read their memory, and all of its processes end with the sandbox.",
    mount: "Mount namespace: code has a root file system of its own, a read-only view of the image or of this machine. Home directories and the state of the daemon are not in it.",
    net: "Network namespace: code has a network with nothing but its own loopback. Connections to the outside go through the egress process, which enforces the network tier.",
    ipc: "IPC namespace: code shares no memory segments, semaphores or message queues with the host or other sandboxes.",
    uts: "UTS namespace: code has a host name of its own, and cannot change that of this machine.",
    cgroup: "Control group: the kernel limits memory, processes and CPU of all code in the sandbox together. A fork bomb or a memory leak ends in its own sandbox.",
    seccomp: "System call filter: the kernel refuses the calls that code does not need, such as mounting, loading modules, tracing or making namespaces. This closes most of the kernel's attack surface.",
    landlock: "Landlock: the rules about files a second time, enforced by another part of the kernel. They hold even if the mount namespace has a hole.",
    rlimit: "Resource limits: numbers of open files, sizes of core dumps and locked memory.", proc: "A /proc of its own: it shows only the processes of the sandbox, and the files about the kernel are hidden.",
};

function part(name, tone, state, ...more) {
    return h("div", {class: "part"}, h("span", {class: ["part-light", `part-${tone}`], "aria-hidden": "true"}, icon(tone === "ok" ? "check" : tone === "off" ? "close" : "alert", 14)),
        h("div", {class: "part-text"}, h("div", {class: "row row-wrap"}, h("h3", {}, name), h("span", {class: "muted"}, state)), more));
}

function fix(about, title) {
    return [about.reason && h("p", {class: "small"}, visibleText(about.reason)), about.hint && h("p", {class: "small fix"}, h("strong", {}, title), visibleText(about.hint))];
}

function enginePart([name, about]) {
    const title = about.name === "podman" ? "Podman" : about.name === "docker" ? "Docker" : ENGINES[name] ?? visibleText(name);
    const more = [about.version && `version ${visibleText(about.version)}`, about.rootless && "rootless", about.runtime && `runtime ${visibleText(about.runtime)}`].filter(Boolean);
    if (about.available)
        return part(title, about.warning ? "warn" : "ok", ["Available", ...more].join(", "), about.warning && h("p", {class: "small fix"}, visibleText(about.warning)),
            about.socket && h("p", {class: "small muted mono"}, visibleText(about.socket)));
    return part(title, name === "native" ? "bad" : "off", name === "native" ? "Cannot run code" : "Not available", fix(about, name === "native" ? "To fix it: " : "To have it: "));
}

// The isolation layers; a press on one explains it.
class Walls {
    constructor() {
        this.element = h("div", {class: "walls", hidden: true});
        this.about = h("p", {class: "small wall-about", role: "status", hidden: true});
        this.open = null;
    }

    show({layers = [], missing = []}) {
        const shown = JSON.stringify([layers, missing]);
        if (shown === this.shown) return; // the focus stays on its button
        this.shown = shown;
        this.element.hidden = false;
        const chip = (l, gone) => h("li", {}, h("button", {type: "button", class: ["chip", "chip-button", gone && "chip-missing"], "aria-expanded": "false", dataset: {layer: l}, onclick: () => this.explain(l, gone)}, l));
        replace(this.element, part("Walls around code", missing.length > 0 ? "warn" : "ok", missing.length > 0 ? `${layers.length} up, ${missing.length} missing on this machine` : `all ${layers.length} are up`,
            h("ul", {class: "chips"}, layers.map((l) => chip(l, false)), missing.map((l) => chip(l, true))), this.about));
    }

    explain(layer, gone) {
        this.open = this.open === layer ? null : layer;
        for (const other of this.element.querySelectorAll("[data-layer]")) other.setAttribute("aria-expanded", String(other.dataset.layer === this.open));
        this.about.hidden = this.open === null;
        this.about.textContent = this.open === null ? "" : `${LAYERS[layer] ?? `Isolation layer ${visibleText(layer)}.`}${gone ? " This kernel or user cannot have it; “cella doctor” says why." : ""}`;
    }
}

// The audit log is a chain of hashes. Verifying reads every row, so it is done when the user asks for it.
class LogCheck {
    constructor(signal) {
        this.signal = signal;
        this.element = h("div", {});
        this.show("off", "Not verified yet on this page", h("p", {class: "small muted"}, "Each row contains the hash of the row before it: a changed or removed row breaks the chain."));
    }

    show(tone, state, ...more) {
        const focused = this.element.contains(document.activeElement);
        this.press = button({label: "Verify the log", icon: "shield", onclick: () => this.verify()});
        replace(this.element, part("Audit log", tone, state, more, h("div", {}, this.press)));
        if (focused) this.press.focus();
    }

    async verify() {
        this.press.disabled = true;
        try {
            const verdict = await api("/v1/executions/verify", {signal: this.signal});
            if (verdict.ok) this.show("ok", `${plural(verdict.rows, "row")}, complete and unchanged`, h("p", {class: "small muted"}, "Verified ", timeOf(new Date()), ". Compare the last hash with a copy that is kept elsewhere: ", h("span", {class: "mono"}, visibleText(verdict.hash ?? "none"))));
            else this.show("bad", `Row ${count(verdict.first_bad)} is wrong`, h("p", {class: "small fix"}, visibleText(verdict.why ?? "")), h("p", {class: "small muted"}, `${plural(verdict.rows, "row")} before it are unchanged.`));
        } catch (error) {
            this.press.disabled = false;
            toastError(error);
        }
    }
}

// The last hour in points for the charts; a minute in which nothing ended was not recorded.
export function hourOf({time, bounds_ms: bounds, minutes}) {
    const now = Date.parse(time), first = Math.floor(now / 60000) - 59, found = new Map(minutes.map((m) => [Math.floor(Date.parse(m.time) / 60000), m]));
    const rate = [], latency = [], sandboxes = [];
    for (let minute = first; minute < first + 60; minute++) {
        const m = found.get(minute), at = minute * 60000, seconds = Math.min(now - at, 60000) / 1000;
        rate.push({time: at, values: [m && seconds >= 1 ? m.executions / seconds : 0]});
        latency.push({time: at, values: m ? [quantile(m.latency, bounds, 0.5), quantile(m.latency, bounds, 0.99)] : [null, null]});
        sandboxes.push({time: at, values: [m ? m.sandboxes : null, null]});
    }
    return {rate, latency, sandboxes};
}

// Estimates a quantile from a histogram: between the bounds of its bucket, in proportion.
function quantile(counts, bounds, part) {
    const wanted = counts.reduce((a, b) => a + b, 0) * part;
    let sum = 0;
    for (let i = 0; i < counts.length; i++) {
        if (sum + counts[i] >= wanted && counts[i] > 0) {
            const low = i === 0 ? 0 : bounds[i - 1], high = bounds[i] ?? low;
            return low + (high - low) * (wanted - sum) / counts[i];
        }
        sum += counts[i];
    }
    return null;
}

function meter(label, value, most, tone = "") {
    return h("span", {class: ["meter", tone && `meter-${tone}`], role: "img", "aria-label": label}, h("span", {style: {width: `${Math.min(100, Math.max(most > 0 ? value / most * 100 : 0, 0))}%`}}));
}

function diskPart({free_bytes: free, total_bytes: total}) {
    const used = total - free, low = free < total * 0.05 || free < 1 << 30;
    return part("Disk", low ? "warn" : "ok", `${bytes(free)} free of ${bytes(total)}`, meter(`${Math.round(used / total * 100)} % used`, used, total, low ? "warn" : ""),
        low && h("p", {class: "small fix"}, "The disk of the state directory is almost full. The setting audit.keep_days limits the size of the log."));
}

function poolPart(pool) {
    const name = `${pool.learned ? "Learned: " : ""}${pool.runtime === null ? "Spare sandboxes" : `Pool of ${visibleText(pool.runtime)}`}${pool.image && pool.image !== "host" ? ` in ${visibleText(pool.image)}` : ""}`;
    // the counters need a capability
    if (pool.available === undefined) return part(name, pool.problem ? "warn" : "ok", `${pool.size} are kept ready${pool.idle_timeout_ms ? " while it is used" : ""}`, pool.problem && h("p", {class: "small"}, visibleText(pool.problem)));
    const learned = pool.learned && [h("p", {class: "small"}, "Preloaded because the code imports it: ", pool.learned.map((m) => `${visibleText(m.module)} (${count(m.executions)} of ${plural(pool.executions, "execution")}, ${duration(m.import_ms)})`).join(", ")),
        h("p", {class: "small muted"}, `Saves ${duration(pool.saved_ms)} per execution, takes ${bytes(pool.memory_bytes)}, ${pool.key ? `only for key ${visibleText(pool.key)}` : "only for the owner"}`)];
    const hidden = !learned && pool.hidden_modules?.length > 0 && h("p", {class: "small"}, `Preloaded: ${plural(pool.hidden_modules.length, "module")}, which code sees only after it imports them. Importing all of them takes ${duration(pool.hidden_import_ms)}.`);
    const asked = pool.hits + pool.misses, asleep = pool.waits === "for an execution";
    const state = `${asleep ? `empty until it is used, then ${pool.size}` : `${pool.available} of ${pool.size}`} ready${asked ? `, ${count(pool.hits)} served` : ""}${pool.misses ? `, ${count(pool.misses)} came when it was empty` : ""}`;
    return part(name, pool.problem ? "warn" : "ok", state, meter(`${pool.available} of ${pool.size} ready`, pool.available, pool.size), learned, hidden, pool.problem && h("p", {class: "small"}, visibleText(pool.problem)));
}

function healthView({health, memory, rates}) {
    const {engines = {}, sandboxes} = health;
    return [part("The daemon", health.status === "ok" ? "ok" : "bad", `${health.status === "ok" ? "Runs code" : "Cannot run code"}, version ${visibleText(health.version)}, up for ${duration(Math.floor(health.uptime_ms / 10000) * 10000)}`,
        h("p", {class: "small muted"}, `${count(sandboxes.running + sandboxes.paused)} of at most ${count(sandboxes.max)} sandboxes`, rates.waiting > 0 && `, ${count(rates.waiting)} requests wait for capacity`,
            memory.available_bytes !== null && `. The machine has ${bytes(Math.round(memory.available_bytes / 1e8) * 1e8)} of memory left`)),
    Object.entries(engines).map(enginePart), health.disk && diskPart(health.disk), health.images?.images > 0 && part("Images", "ok", `${plural(health.images.images, "image")}, ${bytes(health.images.bytes)}${health.images.jobs > 0 ? `, ${plural(health.images.jobs, "import")} under way` : ""}`), (health.pools ?? []).map(poolPart)];
}

/* ---- sandboxes ---- */
class SandboxTable {
    constructor() {
        this.rows = new Map(); // id -> row
        this.used = new Map(); // id -> usage
        this.number = h("span", {class: "muted small"});
        this.body = h("tbody");
        this.nothing = empty({icon: "box", title: "No sandboxes", text: "Sandboxes that outlive one execution are listed here. Those of single executions are too short-lived for a list: see the chart."});
        this.table = h("div", {class: "table-scroll", hidden: true}, h("table", {class: "table sandboxes"}, h("thead", {}, h("tr", {},
            ["Sandbox", "State", "Runs", "Processes", "Memory", "CPU", "Age"].map((t) => h("th", {scope: "col"}, t)), h("th", {scope: "col"}, h("span", {class: "hidden-text"}, "Actions")))), this.body));
        this.element = h("div", {class: "sandboxes-hold"}, this.table, this.nothing);
    }

    show(all) {
        for (const [id, row] of this.rows)
            if (!all.has(id)) {
                if (row.element.contains(document.activeElement)) this.focusNear(row.element);
                row.element.remove();
                this.rows.delete(id);
                this.used.delete(id);
            }
        for (const [id, sandbox] of all) {
            if (!this.rows.has(id)) {
                const row = this.make(id);
                this.rows.set(id, row);
                this.body.prepend(row.element);
            }
            this.fill(this.rows.get(id), sandbox);
        }
        this.table.hidden = all.size === 0;
        this.nothing.hidden = all.size > 0;
        this.number.textContent = all.size === 0 ? "" : count(all.size);
    }

    // Keeps the keyboard focus near a removed element, instead of at the beginning of the page.
    focusNear(element) {
        (element.nextElementSibling ?? element.previousElementSibling)?.querySelector("a, button")?.focus();
    }

    make(id) {
        const cells = Object.fromEntries(["state", "runs", "processes", "memory", "cpu", "age"].map((name) => [name, h("td", {class: "number", dataset: {label: name}})]));
        const row = {id, cells, who: h("span", {class: "muted small truncate"}), labels: h("div"), name: h("strong", {class: "truncate", hidden: true})};
        row.actions = h("td", {class: "actions"});
        row.element = h("tr", {dataset: {id}}, h("td", {class: "sandbox-name"}, h("div", {class: "row"}, row.name, h("span", {class: "mono", title: id}, shortId(id)),
            button({icon: "copy", kind: "quiet", title: `Copy the id ${id}`, onclick: () => copyText(id), class: "button button-quiet button-icon button-small"})), row.who, row.labels), Object.values(cells), row.actions);
        return row;
    }

    fill(row, sandbox) {
        const before = row.sandbox;
        row.sandbox = sandbox;
        row.who.textContent = ownerOf(sandbox);
        replace(row.labels, labels(sandbox.metadata));
        row.name.textContent = visibleText(sandbox.name ?? "");
        row.name.hidden = !sandbox.name;
        replace(row.cells.state, stateBadge(sandbox.state));
        row.cells.runs.textContent = count(sandbox.executions);
        row.cells.processes.textContent = count(sandbox.processes);
        this.fillUsage(row);
        replace(row.cells.age, timeOf(sandbox.created));
        if (before?.state !== sandbox.state) this.fillActions(row);
    }

    fillActions(row) {
        const {id, state} = row.sandbox, focused = row.actions.contains(document.activeElement) ? document.activeElement.dataset.action : null;
        const act = (name, label, picture, onclick, kind = "quiet") => button({icon: picture, kind, title: `${label} ${id}`, onclick, "data-action": name});
        const open = (name, label, picture) => h("a", {class: "button button-quiet button-icon", href: `#/${name}/${id}`, title: `${label} ${id}`, "aria-label": `${label} ${id}`, "data-action": name}, icon(picture));
        replace(row.actions, h("div", {class: "row"}, can("sandbox.exec") && state !== "paused" && open("terminal", "Terminal of", "terminal"), can("files") && open("files", "Files of", "folder"),
            can("sandbox.manage") && state === "running" && act("pause", "Pause", "pause", () => this.change(row, "pause")),
            can("sandbox.manage") && state === "paused" && act("pause", "Resume", "play", () => this.change(row, "resume")),
            can("sandbox.manage") && act("kill", "Kill", "trash", () => this.kill(row))));
        if (focused) (row.actions.querySelector(`[data-action="${focused}"]`) ?? row.actions.querySelector("a, button"))?.focus();
    }

    async change(row, what) {
        try {
            this.fill(row, {...row.sandbox, ...await api(sandboxPath(row.id, `/${what}`), {method: "POST"})});
        } catch (error) {
            toastError(error);
        }
    }

    async kill(row) {
        if (!await confirm({title: "Kill this sandbox?", text: `All processes in ${row.id} are killed, and the files in its private workspace are deleted.`, action: "Kill"})) return;
        try {
            await api(sandboxPath(row.id), {method: "DELETE"});
            toast("The sandbox is gone", {kind: "ok", ms: 2500});
        } catch (error) {
            if (error.status !== 404) toastError(error);
        }
    }

    usage(all) {
        for (const [id, usage] of Object.entries(all)) {
            const before = this.used.get(id), now = {...usage, at: performance.now()};
            if (before && usage.cpu_ms !== null && before.cpu_ms !== null) now.share = Math.max(0, (usage.cpu_ms - before.cpu_ms) / (now.at - before.at));
            this.used.set(id, now);
            if (this.rows.has(id)) this.fillUsage(this.rows.get(id));
        }
    }

    fillUsage(row) {
        const used = this.used.get(row.id), most = row.sandbox.limits?.memory_bytes;
        replace(row.cells.memory, used?.memory_bytes === undefined || used.memory_bytes === null ? "–" : h("span", {class: "cell-meter"}, bytes(used.memory_bytes),
            most && meter(`of ${bytes(most)}`, used.memory_bytes, most, used.memory_bytes > most * 0.9 ? "warn" : "")));
        row.cells.cpu.textContent = used?.share === undefined ? "–" : `${Math.round(used.share * 100)} %`;
    }

    memory() {
        let sum = 0;
        for (const {memory_bytes: n} of this.used.values()) sum += n ?? 0;
        return sum;
    }

    tick() {
        for (const row of this.rows.values()) replace(row.cells.age, timeOf(row.sandbox.created));
    }
}
