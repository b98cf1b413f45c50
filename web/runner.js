// runner.js -- one run of "Try it": creates a sandbox and an interpreter, runs the code, and lists the changed files.
//
// A key that may create sandboxes gets a new one for each run, which is kept until the next run so that its files can
// be downloaded; the user may also keep one, with its variables. A key that may only run code uses /v1/exec.
import {api, can, stream} from "./api.js";

const TTL_MS = 30 * 60 * 1000;
const LISTED = 300, DEPTH = 5;

const keepsVariables = (runtime) => /^(python|node|bash)/.test(runtime);

// Measures the start of an interpreter alone: it starts itself five times and prints the median, in ms.
const BARE = [
    [/^python/, `import subprocess, sys, time
t = []
for _ in range(5):
    a = time.perf_counter(); subprocess.run([sys.executable, "-c", "pass"]); t.append(time.perf_counter() - a)
print(sorted(t)[2] * 1000)`],
    [/^node/, `const {spawnSync} = require('child_process'), t = [];
for (let i = 0; i < 5; i++) { const a = performance.now(); spawnSync(process.execPath, ['-e', '0']); t.push(performance.now() - a); }
console.log(t.sort((a, b) => a - b)[2]);`],
    [/^bash/, `for i in 1 2 3 4 5; do a=\${EPOCHREALTIME/./}; "$BASH" -c :; b=\${EPOCHREALTIME/./}; echo $((b - a)); done | sort -n | sed -n '3s/\\(...\\)$/.\\1/p'`],
];

export class Runner {
    constructor() {
        this.box = null; // {id, image, contexts: {runtime: id}}
    }

    get sandbox() { return this.box?.id ?? null; }

    // Deletes the sandbox; also called while the page is being left.
    discard() {
        const box = this.box;
        this.box = null;
        if (box) api(`/v1/sandboxes/${box.id}`, {method: "DELETE", keepalive: true, retries: 0}).catch(() => {});
    }

    // run({runtime, code, image, keep, stdin, files, packages, limits, network, signal, on: {phase(name), event(name, data), busy(seconds)}})
    // -> {result, times: {sandbox, interpreter} in ms or null, files: [{path, bytes, change}] or null, fresh, box: where it ran or null}
    async run(options) {
        if (!can("sandbox.manage")) return await this.runOnce(options);
        const {keep, image, limits, network} = options, place = JSON.stringify([image, limits, network]);
        if (!keep || this.box?.place !== place) this.discard();
        const fresh = this.box === null;
        try {
            return await this.runIn(options, fresh, place);
        } catch (error) {
            if (fresh || error.status !== 404) throw error;
            this.box = null; // it was deleted meanwhile, or the daemon was restarted
            options.on.phase("gone");
            return await this.runIn(options, true, place);
        }
    }

    async runIn({runtime, code, image, stdin, files = [], packages = [], limits, network, signal, on}, fresh, place) {
        const times = {sandbox: null, interpreter: null};
        const options = {method: "POST", signal, onBusy: on.busy};
        if (fresh) {
            on.phase("sandbox");
            const made = await api("/v1/sandboxes", {...options, onTime: (ms) => { times.sandbox = ms; },
                body: {image, limits, network, ttl_ms: TTL_MS, persistent: false, metadata: {for: "web page"}}});
            this.box = {id: made.id, image, place, contexts: {}, packages: new Set()};
        }
        const box = this.box, sent = can("files") ? undefined : await inline(files);
        if (!sent) await this.upload(box, files, options, on);
        const missing = packages.filter((name) => !box.packages.has(name));
        if (missing.length > 0) {
            on.phase("packages");
            const installed = await this.follow(`/v1/sandboxes/${box.id}/exec`, {command: installer(runtime, missing)}, options, on);
            if (installed.exit_code !== 0) return {result: installed, times, fresh, box, files: null};
            for (const name of missing) box.packages.add(name);
            on.phase("code");
        }
        const before = fresh && files.length === 0 && packages.length === 0 ? new Map() : await this.listing(box, signal);
        // A context has no standard input, and takes no files with a run.
        const result = keepsVariables(runtime) && stdin === undefined && !sent ? await this.runInContext(box, runtime, {code, rich: true}, times, options, on)
            : await this.follow(`/v1/sandboxes/${box.id}/exec`, {runtime, code, stdin, files: sent, rich: true}, options, on);
        return {result, times, fresh, box, files: changes(before, await this.listing(box, signal))};
    }

    async runInContext(box, runtime, body, times, options, on) {
        const contexts = `/v1/sandboxes/${box.id}/contexts`;
        if (!box.contexts[runtime]) {
            const made = await api(contexts, {...options, body: {runtime}, onTime: (ms) => { times.interpreter = ms; }});
            box.contexts[runtime] = made.id;
        }
        try {
            return await this.follow(`${contexts}/${box.contexts[runtime]}/run`, body, options, on);
        } finally {
            const state = await api(`${contexts}/${box.contexts[runtime]}`, {signal: options.signal}).catch(() => null);
            // the code has ended its interpreter: start another one next time
            if (state?.state !== "idle") delete box.contexts[runtime];
        }
    }

    async upload(box, files, options, on) {
        for (const file of files) {
            on.phase("files");
            await api(`/v1/sandboxes/${box.id}/files?path=${encodeURIComponent(`/workspace/${file.name}`)}`, {...options, method: "PUT", body: file, headers: {"Content-Type": "application/octet-stream"}});
        }
    }

    async runOnce({runtime, code, image, stdin, files = [], limits, network, signal, on}) {
        const body = {runtime, code, image, stdin, files: await inline(files), limits, network, rich: true};
        const result = await this.follow("/v1/exec", body, {method: "POST", signal, onBusy: on.busy}, on);
        return {result, times: {sandbox: null, interpreter: null}, fresh: true, box: null, files: null};
    }

    async follow(path, body, options, on) {
        let result = null, failure = null;
        await stream(path, {...options, body, onEvent: ({event, data}) => {
            if (event === "exit") result = data;
            else if (event === "error") failure = data.error;
            else on.event(event, data);
        }});
        if (failure) throw Object.assign(new Error(failure.message), failure);
        if (!result && !options.signal?.aborted) throw Object.assign(new Error("The connection broke before the end."), {kind: "offline", hint: ""});
        return result;
    }

    // Returns path -> {bytes, modified} of the workspace's files, up to LISTED files and DEPTH levels; null if the key
    // may not list them.
    async listing(box, signal) {
        if (!can("files")) return null;
        const found = new Map(), waiting = [["", 0]];
        while (waiting.length > 0 && found.size < LISTED) {
            const [directory, depth] = waiting.shift();
            const path = `/v1/sandboxes/${box.id}/files?list=1&path=${encodeURIComponent(`/workspace/${directory}`)}`;
            const answer = await api(path, {signal}).catch(() => ({entries: []}));
            for (const entry of answer.entries) {
                const at = directory ? `${directory}/${entry.name}` : entry.name;
                if (isCache(at)) continue;
                if (entry.type === "directory" && depth < DEPTH) waiting.push([at, depth + 1]);
                if (entry.type === "file") found.set(at, {bytes: entry.bytes, modified: entry.modified});
            }
        }
        return found;
    }

    async fetchFile(box, path) {
        const response = await api(`/v1/sandboxes/${box.id}/files?path=${encodeURIComponent(`/workspace/${path}`)}`, {raw: true});
        return await response.blob();
    }

    canMeasure(box, runtime) { return box !== null && BARE.some(([pattern]) => pattern.test(runtime)); }

    // Returns the milliseconds that this interpreter alone needs to start, measured in the sandbox of a run. The
    // measurement is an execution of its own in the log, so it is only done when the user asks for it.
    async bareStart(box, runtime) {
        const code = BARE.find(([pattern]) => pattern.test(runtime))[1];
        const result = await api(`/v1/sandboxes/${box.id}/exec`, {method: "POST", body: {runtime, code, timeout_ms: 10000}, retries: 0});
        const ms = Number(result.stdout);
        if (!(ms > 0)) throw Object.assign(new Error("The start could not be measured."), {kind: "internal", hint: result.stderr});
        return ms;
    }
}

// Files as a part of the request.
async function inline(files) {
    if (files.length === 0) return undefined;
    const encoded = await Promise.all(files.map(async (file) => {
        const data = new Uint8Array(await file.arrayBuffer());
        let text = "";
        for (let at = 0; at < data.length; at += 32768) text += String.fromCharCode(...data.subarray(at, at + 32768));
        return [file.name, {base64: btoa(text)}];
    }));
    return Object.fromEntries(encoded);
}

function installer(runtime, packages) {
    if (/^(python|pypy)/.test(runtime)) return [runtime, "-m", "pip", "install", "--disable-pip-version-check", "--retries", "1", ...packages];
    if (/^node/.test(runtime)) return ["npm", "install", "--no-audit", "--no-fund", ...packages];
    throw Object.assign(new Error(`Packages can be installed for Python and Node, not for ${runtime}.`), {kind: "invalid_request"});
}

// Caches and installed packages are not results of the code.
const CACHES = /(^|\/)(\.cache|\.npm|\.local|node_modules|__pycache__|\.ipynb_checkpoints)(\/|$)/;
export const isCache = (path) => CACHES.test(path);

function changes(before, after) {
    if (before === null || after === null) return null;
    const list = [];
    for (const [path, {bytes, modified}] of after) {
        const old = before.get(path);
        if (!old || old.modified !== modified || old.bytes !== bytes) list.push({path, bytes, change: old ? "changed" : "added"});
    }
    for (const path of before.keys()) if (!after.has(path)) list.push({path, bytes: 0, change: "removed"});
    return list.sort((a, b) => a.path < b.path ? -1 : 1);
}
