// api.js -- access to the daemon: requests, events, the current user, the connection state.
//
// The key is kept in memory and in this tab's session storage. It is only sent in a header, so no other page can make
// the browser send it.

const KEY = "cella.key";
const RETRIES = 4;

export class ApiError extends Error {
    // kind as in doc/api.md; also "offline" (no answer) and "aborted".
    constructor(status, kind, message, hint = "", retryAfter = null) {
        super(message);
        Object.assign(this, {status, kind, hint, retryAfter});
    }
}

// Events of the page:
//   "me"       the current user has changed (detail: me or null)  "sign-in"   a key is needed (detail: the reason, or "")
//   "offline"  the daemon does not answer                         "online"    the daemon answers again
//   "busy"     429: trying again (detail: seconds)
export const events = new EventTarget();
const tell = (name, detail) => events.dispatchEvent(new CustomEvent(name, {detail}));

const storage = {
    get() { try { return sessionStorage.getItem(KEY); } catch { return null; } },
    put(key) { try { if (key) sessionStorage.setItem(KEY, key); else sessionStorage.removeItem(KEY); } catch { /* the key stays in memory */ } },
    clear() { try { for (const name of Object.keys(sessionStorage)) if (name.startsWith("cella.")) sessionStorage.removeItem(name); } catch { /* nothing was kept */ } },
};

let key = storage.get();
let me = null;
let asking = false; // the sign-in form is open
let online = true;

export const currentUser = () => me;
export const isOnline = () => online;
export const hasKey = () => key !== null;

// Whether the current user may do this: can("settings"). "": any user who is signed in.
export function can(capability) {
    return me !== null && (!capability || me.owner || me.capabilities.includes(capability));
}

function headersWith(more) {
    const headers = new Headers(more);
    if (key) headers.set("Authorization", `Bearer ${key}`);
    return headers;
}

const sleep = (ms, signal) => new Promise((resolve, reject) => {
    const stop = () => { clearTimeout(timer); reject(new ApiError(0, "aborted", "stopped")); };
    const timer = setTimeout(() => { signal?.removeEventListener("abort", stop); resolve(); }, ms);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, {once: true});
});

async function errorOf(response) {
    const seconds = Number(response.headers.get("Retry-After")) || null;
    let error = null;
    try { error = (await response.json()).error; } catch { /* not from the daemon, perhaps a proxy's page */ }
    return new ApiError(response.status, error?.kind ?? "internal", error?.message ?? `the daemon answered ${response.status}`,
        error?.hint ?? "", seconds);
}

async function attempt(path, {method = "GET", body, headers, signal, keepalive} = {}) {
    const sent = headersWith(headers), sentKey = key;
    if (body !== undefined && !(body instanceof Blob) && !(body instanceof ArrayBuffer) && !(body instanceof ReadableStream) && typeof body !== "string") {
        if (!sent.has("Content-Type")) sent.set("Content-Type", "application/json");
        body = JSON.stringify(body);
    }
    let response;
    try {
        response = await fetch(path, {method, body, headers: sent, signal, keepalive, cache: "no-store", credentials: "omit", redirect: "error"});
    } catch (error) {
        if (signal?.aborted) throw new ApiError(0, "aborted", "stopped");
        lost();
        throw new ApiError(0, "offline", "The daemon does not answer.", String(error.message ?? ""));
    }
    found();
    if (response.ok || response.status === 304) return response;
    const error = await errorOf(response);
    if (response.status === 401 && sentKey === key) signedOut(error); // ignore a late answer to the previous key
    throw error;
}

// Like attempt(), but waits and tries again while the daemon has no capacity (429: the request had no effect).
async function patiently(path, options = {}) {
    for (let tries = 0; ; tries++) {
        try {
            return await attempt(path, options);
        } catch (error) {
            if (error.status !== 429 || tries >= (options.retries ?? RETRIES)) throw error;
            const seconds = Math.min(Math.max(error.retryAfter ?? 1, 0.2), 30);
            tell("busy", seconds);
            options.onBusy?.(seconds);
            await sleep(seconds * 1000, options.signal);
        }
    }
}

// api("/v1/settings")                                             -> parsed JSON (null for 204)
// api("/v1/exec", {method: "POST", body: {…}, signal})            body: an object is sent as JSON; Blob, string: unchanged
// api("/v1/…/files?path=x", {raw: true})                          -> the Response
// Other options: headers, keepalive, retries (of 429; 0: none), onBusy(seconds), onTime(ms that the daemon needed). Throws ApiError.
export async function api(path, options = {}) {
    const response = await patiently(path, options);
    options.onTime?.(Number(/daemon;dur=([\d.]+)/.exec(response.headers.get("Server-Timing"))?.[1] ?? NaN));
    if (options.raw) return response;
    if (response.status === 204) return null;
    const text = await response.text();
    return text === "" ? null : JSON.parse(text);
}

/* ---- server-sent events, over fetch: EventSource can send neither a key nor a body ---- */

// Reads one response to its end. Blocks are separated by an empty line; the daemon sends "\n", but "\r\n" is accepted,
// too.
async function readEvents(response, onEvent, last) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let parts = [];
    const take = (block) => {
        let name = "message", data = [], id;
        for (const line of block.split(/\r?\n/)) {
            if (line.startsWith("event:")) name = line.slice(6).trim();
            else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
            else if (line.startsWith("id:")) id = line.slice(3).trim();
        }
        if (id !== undefined) last.id = id;
        if (data.length > 0) return onEvent({event: name, data: JSON.parse(data.join("\n")), id});
    };
    for (;;) {
        const {value, done} = await reader.read();
        if (done) return;
        last.heard = true;
        parts.push(value);
        if (!value.includes("\n")) continue; // join a long event once, not for each part
        const blocks = parts.join("").split(/\r?\n\r?\n/);
        parts = [blocks.pop()];
        for (const block of blocks) await take(block);
    }
}

// stream(path, {method, body, onEvent({event, data, id}), onOpen(), onClosed(error), signal, reconnect})
// Resolves when the stream has ended or signal was aborted. If onEvent returns a promise, reading waits for it.
// reconnect (default: for GET): connects again after an interruption, with backoff and Last-Event-ID, until aborted; onClosed is
// called for each interruption. Without reconnect, an interruption throws ApiError.
export async function stream(path, options = {}) {
    const {method = "GET", body, headers, onEvent, onOpen, onClosed, signal, reconnect = method === "GET"} = options;
    const last = {id: undefined, heard: false};
    for (let wait = 500; ;) {
        try {
            const asked = new Headers(headers);
            asked.set("Accept", "text/event-stream");
            if (last.id !== undefined) asked.set("Last-Event-ID", last.id);
            const response = await patiently(path, {method, body, headers: asked, signal, onBusy: options.onBusy, retries: options.retries});
            onOpen?.();
            last.heard = false;
            await readEvents(response, onEvent, last);
            if (!reconnect) return;
            onClosed?.(null);
        } catch (error) {
            if (signal?.aborted || error.kind === "aborted") return;
            const broken = error instanceof ApiError ? error : new ApiError(0, "offline", "The connection broke.", String(error.message ?? ""));
            const hopeless = broken.status >= 400 && broken.status < 500 && broken.status !== 429;
            if (!reconnect || hopeless) {
                if (!(error instanceof ApiError)) check();
                throw broken;
            }
            onClosed?.(broken);
        }
        if (last.heard) wait = 500;
        try { await sleep(wait * (0.75 + Math.random() / 2), signal); } catch { return; }
        wait = Math.min(wait * 2, 10000);
        last.heard = false;
    }
}

/* ---- the current user ---- */

function setMe(value) {
    me = value;
    if (me !== null) asking = false;
    tell("me", me);
}

function signedOut(error) {
    const why = key ? error.message : "";
    key = null;
    storage.put(null);
    if (me !== null) setMe(null);
    if (asking) return; // one form is enough for many refused requests and for a wrong key
    asking = true;
    tell("sign-in", why);
}

// Asks the daemon for the current user. Throws ApiError; a 401 also dispatches "sign-in".
export async function identify() {
    const early = await globalThis.cellaMe; // early.js has already sent this request
    globalThis.cellaMe = null;
    if (early?.ok) setMe(await early.json());
    else if (early?.status === 401) signedOut(await errorOf(early));
    else setMe(await api("/v1/me"));
}

// Tries a key. Throws ApiError if it is refused; then nothing has changed.
export async function signIn(candidate) {
    const before = key;
    key = candidate;
    try {
        const value = await api("/v1/me");
        storage.put(candidate);
        setMe(value);
    } catch (error) {
        key = error.status === 401 ? null : before;
        throw error;
    }
}

// Signing out also deletes drafts. (A key that is no longer accepted does not: the same user is still there.)
export function signOut() {
    signedOut(new ApiError(401, "unauthorized", ""));
    storage.clear();
}

/* ---- connection state ---- */

function found() {
    if (online) return;
    online = true;
    tell("online");
}

function lost() {
    if (!online) return;
    online = false;
    tell("offline");
    look(300);
}

async function look(wait) {
    while (!online) {
        await sleep(wait);
        if (await healthy()) found();
        wait = Math.min(wait * 1.5, 2500);
    }
}

// While it starts and stops, the daemon answers with 503.
const healthy = () => fetch("/healthz", {cache: "no-store", credentials: "omit"}).then((response) => response.ok, () => false);

// After a broken stream: finds out whether the daemon is gone.
async function check() {
    if (await healthy()) found();
    else lost();
}

// Subprotocols for terminals: a WebSocket cannot send headers from a browser. The key is sent as a subprotocol, which
// is a header and not part of the address. Without a key: no protocols.
export function socketProtocols() {
    return key ? ["cella", `cella.key.${key}`] : ["cella"];
}
