// pools.js -- the pools: what waits, what is preloaded and why, how often it was used; and leasing a sandbox.
// The figures arrive with the events of the monitor; there is no polling.
import {ApiError, api, append, badge, bytes, can, count, duration, empty, h, icon, notice, plural, stream, toastError, visibleText} from "./app.js";
import {Entries, action, entry, pageHead} from "./entries.js";
import {shortId, styles} from "./live.js";
import {show} from "./controls.js";

export const keep = true;

const WAITS = {
    template: "Members are copies of a template, in which the interpreter has started and the modules are loaded.", started: "Members are interpreters that have started.",
    sandbox: "Members are empty sandboxes; the interpreter starts with the code.", "for the image": "It waits for its image, which is not here yet.",
    "making the template": "Its template is being made.", "for an execution": "It is empty until an execution needs it, which saves memory.",
};

export function poolTitle(pool) {
    const name = pool.runtime === null || pool.runtime === undefined ? "Spare sandboxes" : `${pool.lease ? "Sandboxes to lease for" : "Pool of"} ${visibleText(pool.runtime)}`;
    return `${pool.learned ? "Learned: " : ""}${name}${pool.image && pool.image !== "host" ? ` in ${visibleText(pool.image)}` : ""}`;
}

// One sentence about what is loaded before code arrives, and why.
export function preloadWords({preload, runtime, learned, executions}) {
    if (learned) return `The code of this key imports it: ${learned.map((m) => `${m.module} (${count(m.executions)} of ${plural(executions, "execution")}, ${duration(m.import_ms)})`).join(", ")}.`;
    if (runtime === null || runtime === undefined) return "Nothing: for requests that no pool serves, if they have the limits, the network and the image of the settings.";
    if (!/^(py|node)/.test(runtime)) return "Nothing: shells start at once.";
    if (preload === "auto") return /^py/.test(runtime) ? "The standard library, because most code imports parts of it. Code does not see a module before it imports it." : "The built-in modules that take long to load.";
    if (Array.isArray(preload) && preload.length > 0) return `As the setting says: ${preload.map((m) => m.startsWith("-") ? `${m.slice(1)} (hidden until imported)` : m).join(", ")}.`;
    return "Nothing: the setting “preload” is empty.";
}

export async function mount(root, {signal}) {
    await styles("pages.css");
    const list = new Entries({title: "Pools"}), leased = new Entries({title: "Leased on this page"});
    const leases = new Map();
    leased.element.hidden = true;

    function poolEntry(pool) {
        const counted = pool.available !== undefined; // the counters need a capability
        const asked = (pool.hits ?? 0) + (pool.misses ?? 0), asleep = pool.waits === "for an execution";
        const limits = Object.entries(pool.limits ?? {}).filter(([name]) => ["cpus", "memory_bytes", "disk_bytes", "processes"].includes(name));
        return entry({id: poolTitle(pool) + pool.key + JSON.stringify(pool.limits), title: poolTitle(pool), badges: [badge(counted ? asleep ? "Empty until used" : `${count(pool.available)} of ${count(pool.size)} ready` : `${count(pool.size)} kept ready`, pool.problem ? "warn" : "ok"),
            pool.key ? badge(`only for key ${visibleText(shortId(pool.key))}`) : null].filter(Boolean), lines: [
            pool.problem && notice("warn", visibleText(pool.problem)),
            h("span", {}, h("strong", {}, "Preloaded: "), visibleText(preloadWords(pool))),
            WAITS[pool.waits],
            counted && [asked > 0 ? `${count(pool.hits)} of ${plural(asked, "request")} found a member (${Math.round(pool.hits / asked * 100)} %)` : "no request yet", pool.in_use > 0 && `${count(pool.in_use)} in use`,
                pool.making > 0 && `${count(pool.making)} being made`, pool.refill_ms > 0 && `a new member takes ${duration(pool.refill_ms)}`].filter(Boolean).join(" · "),
            pool.learned && `Saves ${duration(pool.saved_ms)} per execution, takes ${bytes(pool.memory_bytes)}.`,
            pool.idle_timeout_ms > 0 && `Emptied after ${duration(pool.idle_timeout_ms)} without use.`,
            limits.length > 0 && `Limits: ${limits.map(([name, value]) => `${name.replaceAll("_", " ").replace(" bytes", "")} ${show(`limits.${name}`, value)}`).join(", ")}`],
        actions: [pool.lease && can("sandbox.manage") && action({label: "Lease one", of: `for ${pool.runtime}`, icon: "plus", onclick: (event) => lease(pool, event.currentTarget)})]});
    }

    async function lease(pool, pressed) {
        pressed.disabled = true;
        try {
            const sandbox = await api("/v1/pools/acquire", {method: "POST", body: {runtime: pool.runtime, image: pool.image}, signal});
            leases.set(sandbox.id, pool);
            showLeases();
        } catch (error) {
            toastError(error);
        }
        pressed.disabled = false;
    }

    async function release(id) {
        try {
            await api("/v1/pools/release", {method: "POST", body: {id}, signal});
        } catch (error) {
            if (error.status !== 404) return toastError(error);
        }
        leases.delete(id);
        showLeases();
    }

    function showLeases() {
        leased.element.hidden = leases.size === 0;
        leased.show([...leases].map(([id, pool]) => entry({id, title: id, mono: true, lines: [poolTitle(pool)], actions: [
            can("sandbox.exec") && h("a", {class: "button", href: `#/terminal/${id}`}, icon("terminal"), "Terminal"),
            action({label: "Give back", of: id, icon: "undo", onclick: () => release(id)})]})));
    }

    let latest = null;
    const showPools = (pools) => {
        const words = JSON.stringify(pools);
        if (words === latest) return; // elements that did not change stay, with the focus and the pointer on them
        latest = words;
        list.show(pools.map(poolEntry), empty({icon: "clock", title: "No pools", text: "Every execution starts its own interpreter. The setting “pools” keeps some ready."}));
    };
    append(root, pageHead("Pools", "Sandboxes with a waiting interpreter, so that code starts in about a millisecond.", can("settings") && h("a", {class: "button", href: "#/settings?at=pools"}, icon("sliders"), "Settings of pools")),
        leased.element, list.element, !can("monitor") && !can("audit") && h("p", {class: "muted small"}, "The counters need the capability monitor."));
    showPools((await api("/v1/pools", {signal})).pools);
    stream("/v1/events", {signal, onEvent({event, data}) { if (event === "snapshot" && data.health.pools) showPools(data.health.pools); }}).catch((error) => { if (error instanceof ApiError) toastError(error); });
}

