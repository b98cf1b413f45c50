/* context.js -- the stateful Node of a context: takes code on a socket, runs it, and keeps what it made.
 *
 * Runs inside the sandbox as `node -e`.  The code shares the process and its globals with this file, so
 * this file keeps what it uses of the language in constants of its own and touches no prototype that the code can change
 * (no array methods, no for-of; what a method is needed for is bound below).
 *
 * Code is evaluated by V8's own REPL mode (what the console of a browser's developer tools uses), through
 * an inspector session to this same thread: only there may `let`, `const` and `class` be declared
 * again in a later run, `await` stand at the top, and the value of the last statement be had, all with no rewriting.  What
 * it lacks is import, so `import(...)` and import statements are rewritten: see rewrite_imports().
 *
 * SIGINT: while the code runs synchronously, vm's breakOnSigint stops it, even in `while (true) {}`; while it
 * awaits, a timer looks for it (was_interrupted()).  A loop without end that begins after the code came back from a timer
 * or from I/O cannot be stopped but by ending the process: Node has nothing for that. */
(() => {
'use strict';

const fs = require('fs'), inspector = require('inspector'), net = require('net'), path = require('path');
const url = require('url'), util = require('util'), vm = require('vm'), Module = require('module');
const { Writable, Duplex } = require('stream');
const onPromise = require('v8').promiseHooks?.onInit;
const here = module, Script = vm.Script;

const SOCKET = 3;
const TEXT_MAX = 64 << 10, DATA_MAX = 4 << 20, TRACEBACK_MAX = 256 << 10;
const JSON_VALUES_MAX = 100000;
const SHOW = { __proto__: null, depth: 4, maxArrayLength: 100, maxStringLength: 10000, breakLength: 100 };

const uncurry = (method) => Function.prototype.call.bind(method);
const { stringify, parse: fromJson } = JSON, { hasOwn } = Object;
const { inspect, types } = util, { from: toBuffer, concat, alloc } = Buffer;
const { writeSync, fstatSync, readdirSync } = fs, { isFinite, isSafeInteger } = Number, { wait } = Atomics;
const indexOf = uncurry(String.prototype.indexOf), slice = uncurry(String.prototype.slice);
const split = uncurry(String.prototype.split), startsWith = uncurry(String.prototype.startsWith);
const trim = uncurry(String.prototype.trim), test = uncurry(RegExp.prototype.exec);
const bytes = uncurry(Buffer.prototype.subarray), decode = uncurry(Buffer.prototype.toString);
const findByte = uncurry(Buffer.prototype.indexOf), then = uncurry(Promise.prototype.then);
const uncork = uncurry(Writable.prototype.uncork), { WritableState } = Writable;
const toText = String, toBig = BigInt, toNumber = Number, parse = parseInt;
const later = setImmediate, startTimer = setInterval, stopTimer = clearInterval;
const reallyExit = process.reallyExit.bind(process), cwd = process.cwd;
const charge = process.cpuUsage.bind(process);
const listenerCount = process.listenerCount.bind(process), on = process.on.bind(process);
const listeners = process.listeners.bind(process);
const fatal = typeof process._fatalException === 'function' ? process._fatalException.bind(process) : null;
const tick = fatal && typeof process._tickCallback === 'function' ? process._tickCallback : () => {};

/* The run that is going on, or null. */
let run = null;
let number = 0;
let poll; /* for SIGINT, while the run awaits something */

// Messages

const nap = new Int32Array(new SharedArrayBuffer(4));

function write_all(fd, data) {
        let at = 0;
        while (at < data.length) {
                try {
                        at += writeSync(fd, data, at, data.length - at);
                } catch (e) {
                        if (e.code !== 'EAGAIN' && e.code !== 'EINTR')
                                throw e;
                        if (e.code === 'EAGAIN')
                                wait(nap, 0, 0, 1); /* the socket does not block, as libuv reads from it */
                }
        }
}

/* Never go on with a descriptor that the code closed and that may be something else by now. */
const socket_inode = fstatSync(SOCKET).ino;

function check_socket() {
        try {
                if (fstatSync(SOCKET).ino === socket_inode)
                        return;
        } catch {
                /* closed */
        }
        reallyExit(1);
}

function send(type, payload) {
        const data = toBuffer(payload, 'utf8');
        try {
                write_all(SOCKET, concat([toBuffer(type + ' ' + data.length + '\n', 'latin1'), data]));
        } catch {
                reallyExit(1);
        }
}

/* JSON.stringify() writes lone surrogates as escapes, which the daemon refuses; toBuffer() would have
 * made them U+FFFD. */
function quote(text) {
        return stringify(decode(toBuffer(text, 'utf8'), 'utf8'));
}

function say(text) {
        try {
                write_all(2, toBuffer(text, 'utf8'));
        } catch {
                /* closed */
        }
}

function cut(text, room) {
        if (text.length <= room)
                return text;
        const left = text.length - room;
        return slice(text, 0, room / 2) + '\n[' + left + ' characters left out]\n' + slice(text, -room / 2);
}

function attempt(f, otherwise) {
        try {
                return f();
        } catch {
                return otherwise;
        }
}

// The inspector

function own(object, name) {
        return object !== undefined && hasOwn(object, name) ? object[name] : undefined;
}

let calls = 0, waiting = { __proto__: null }; /* callbacks by number */
const promises = { __proto__: null }; /* the same, of runs that have not come to their end */

function heard(message) {
        const answer = fromJson(message), id = own(answer, 'id'), callback = waiting[id];
        delete waiting[id];
        delete promises[id];
        callback?.(own(own(answer, 'error'), 'message'), own(answer, 'result'));
}

/* inspector.Session makes its messages of objects that have a prototype, which the code can have changed. */
const dispatch = (() => {
        try {
                const { Connection } = process.binding('inspector');
                const connection = new Connection(heard);
                return connection.dispatch.bind(connection);
        } catch {
                const session = new inspector.Session();
                session.connect();
                const post = session.post.bind(session);
                return (message) => {
                        const { id, method, params } = fromJson(message);
                        post(method, params, (error, result) =>
                                heard(stringify(error ? { id, error: { message: error.message } } : { id, result })));
                };
        }
})();

/* The parameters are JSON. */
function call(method, params, callback) {
        const id = ++calls;
        if (callback)
                waiting[id] = callback;
        dispatch('{"id":' + id + ',"method":"' + method + '","params":{' + params + '}}');
}

/* To run code is to make a promise of its end, which the inspector waits for, but does not keep: of one that nothing can
 * fulfil any more it wants to tell us, from within a collection of garbage, and from Node 22 on the process dies of that.
 * It is the first that is made. */
function keep_promise(id) {
        let stop = onPromise?.((promise) => {
                forget();
                promises[id] = promise;
        });
        const forget = () => {
                stop?.();
                stop = undefined;
        };
        return forget;
}

// Interrupts

const hub = { __proto__: null, step: null, import: null };
const HUB = Symbol.for('cella');
const script = new vm.Script('globalThis[Symbol.for("cella")].step()', { filename: '[eval]' });
const runScript = script.runInThisContext.bind(script);
const BREAK = { __proto__: null, breakOnSigint: true };
let inside = false;
let torn = false; /* something was cut off since the last run ended */

/* Calls f() so that SIGINT ends it, whatever it does, and says whether that happened.  f() may be
 * cut off at any point, so it sends nothing.  What it throws goes to failed(). */
function interruptible(f, failed) {
        let error, threw = false;
        hub.step = f;
        inside = true;
        try {
                runScript(BREAK);
        } catch (e) {
                error = e;
                threw = true;
        }
        inside = false;
        hub.step = null;
        if (threw && error !== null && typeof error === 'object' && error.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED') {
                torn = true;
                return true;
        }
        if (threw && failed)
                failed(error);
        return false;
}

/* vm takes SIGINT over when it runs something and gives it back afterwards, and in between the signal would
 * kill the process.  Not if vm's own watchdog runs all the time: then SIGINT is noted between runs, and vm
 * changes nothing.  Node does not document that, so there is a way without: a listener, and those moments.  Where the
 * code has listeners of its own for SIGINT, they are what is called while nothing runs. */
const watchdog = (() => {
        try {
                const found = process.binding('contextify');
                return found.startSigintWatchdog && found.stopSigintWatchdog ? found : null;
        } catch {
                return null;
        }
})();
const watch = watchdog?.startSigintWatchdog, unwatch = watchdog?.stopSigintWatchdog;
let watching = false, touched = false;

function on_new_listener(name) {
        if (name === 'SIGINT')
                touched = true; /* Node has set its own handler, or is about to */
}

function on_interrupt() {
        if (run && run.code === undefined)
                run.how = 'interrupted';
        else if (run)
                settle(run, 'interrupted');
}

/* Whether SIGINT came since somebody asked. */
function was_interrupted() {
        if (!watching)
                return false;
        watch();
        return unwatch();
}

function keep_watching() {
        if (!watchdog) {
                if (!includes(listeners('SIGINT'), on_interrupt))
                        on('SIGINT', on_interrupt);
                return;
        }
        const alone = listenerCount('SIGINT') === 0;
        if (watching && (touched || !alone)) {
                unwatch();
                watching = false;
        }
        if (alone && !watching) {
                watch();
                watching = true;
        }
        touched = false;
}

/* A signal goes through a thread of the watchdog, which may be late.  To stop that thread is to wait until it runs, but it
 * leaves what it has not taken yet to the next, which gets a moment for it, three times.  In between SIGINT kills;
 * the daemon sends none then. */
function catch_up() {
        if (!watching || listenerCount('SIGINT') > 0)
                return;
        for (let i = 0; i < 3; i++) {
                unwatch();
                watch();
                wait(nap, 0, 0, 1);
        }
}

const pid = process.pid, sendSignal = process._kill, { SIGINT } = require('os').constants.signals;

/* The number of another thread of this process, which means the same to kill(2); 0 if there is none to be found. */
function other_thread() {
        const threads = attempt(() => readdirSync('/proc/self/task'), []);
        if (includes(threads, toText(pid))) /* else the numbers are those of another namespace */
                for (let i = 0; i < threads.length; i++)
                        if (toNumber(threads[i]) !== pid)
                                return toNumber(threads[i]);
        return 0;
}

/* Node closes the inspector when the process sends itself what it has no listener for, as it will hardly survive that; but
 * SIGINT it does survive here. */
function kill(target, number) {
        const thread = toNumber(target) === pid && number > 0 ? other_thread() : 0;
        const failed = sendSignal(thread || target, number);
        if (thread && number === SIGINT && inside)
                wait(nap, 0, 0, 100); /* ends the code here, not somewhere behind */
        return failed;
}

// The end of a run

const stdout = process.stdout, stderr = process.stderr;

function options_of(stream) {
        const { highWaterMark, decodeStrings, emitClose, autoDestroy } = stream._writableState;
        return { __proto__: null, highWaterMark, decodeStrings, emitClose, autoDestroy };
}

const stdout_options = options_of(stdout), stderr_options = options_of(stderr);

/* Whether nothing is left in it.  Both write at once: so what is left is corked, or (for a turn or two, where the pipe does
 * not block) on its way, or was cut off in the middle of a write: that never ends, and all later ones would wait for it. */
function is_flushed(stream, options, turns) {
        const state = stream._writableState;
        if (stream.destroyed || state.ending)
                return true;
        while (state.corked > 0)
                uncork(stream);
        if (state.length > 0 && turns > 0 && !torn)
                return false;
        if (state.length > 0 || torn)
                stream._writableState = new WritableState(options, stream, stream instanceof Duplex);
        return true;
}

function flush(stream, options, turns, next) {
        if (attempt(() => is_flushed(stream, options, turns), true))
                next();
        else
                later(() => flush(stream, options, turns - 1, next));
}

function finish(mine, payload) {
        const done = () => {
                if (run !== mine)
                        return;
                run = null;
                stopTimer(poll);
                torn = false;
                waiting = { __proto__: null };
                call('Runtime.releaseObjectGroup', '"objectGroup":"run"');
                keep_listening();
                if (mine.empty)
                        catch_up();
                check_socket();
                charge(); /* by asking; else the next run might be charged for what this one used */
                send('done', payload);
                next_message();
        };
        flush(stdout, stdout_options, 3, () => flush(stderr, stderr_options, 3, done));
}

/* The first that comes is how the run ended; told as soon as we are not inside the code. */
function settle(mine, how, value, place) {
        if (run !== mine || mine.how)
                return;
        mine.how = how;
        mine.value = value;
        mine.place = place;
        if (!inside)
                conclude(mine);
}

function conclude(mine) {
        const { how, value } = mine;
        if (how === 'error' && !(Exit.is(value) && mine.exit_code !== undefined)) {
                tell_error(value, mine.place);
                finish(mine, '{"status":"error"}');
        } else if (mine.exit_code !== undefined && how !== 'interrupted') {
                finish(mine, '{"status":"exit","exit_code":' + mine.exit_code + '}');
        } else if (how === 'interrupted' || (value !== undefined && !show(value))) {
                finish(mine, '{"status":"interrupted"}');
        } else {
                finish(mine, '{"status":"ok"}');
        }
}

/* process.exit() in code that goes on all the same, because it caught what is thrown here, still counts. */
class Exit extends Error {
        #code;

        constructor(code) {
                super('process.exit(' + code + ')');
                this.#code = code;
        }

        /* `instanceof` would call a proxy's code. */
        static is(error) {
                return error !== null && typeof error === 'object' && #code in error;
        }
}

function exit(code) {
        if (code === undefined)
                code = process.exitCode;
        process.exitCode = undefined;
        const status = (toNumber(code ?? 0) | 0) & 255;
        if (run)
                run.exit_code ??= status;
        throw new Exit(status);
}

function tell_error(error, place) {
        const told = { __proto__: null, name: 'Error', message: '', traceback: 'Error' };
        interruptible(() => describe(error, place, told));
        say(told.traceback + '\n');
        send('error', '{"name":' + quote(told.name) + ',"message":' + quote(told.message) + ',"traceback":' +
                quote(told.traceback) + '}');
}

const STRAY_MAX = 1000;
let stray = 0; /* errors since the last run */

/* From a timer, a callback, a promise that nobody looks at. */
function uncaught(error) {
        if (run && run.code !== undefined && !run.how) {
                settle(run, 'error', error);
        } else if (++stray > STRAY_MAX) {
                reallyExit(1); /* the code has broken something that Node needs, and it will not end */
        } else if (!Exit.is(error)) {
                const told = { __proto__: null, traceback: 'Error' };
                interruptible(() => describe(error, undefined, told));
                say(told.traceback + '\n');
        }
}

/* What left tick() by force did not restore what Node knows of asynchronous calls, and Node would end the
 * process over that.  It tidies up where it handles what nobody caught. */
const STOPPED = new Error('interrupted');

function unwind(error) {
        if (fatal && typeof process.emit === 'function')
                fatal(error, false);
        else
                uncaught(error);
}

function on_uncaught(error) {
        if (error === STOPPED)
                return;
        if (listenerCount('uncaughtException') <= 1 || Exit.is(error)) /* else the code has its own */
                uncaught(error);
}

// Errors

const CALLER = /^ *at (?:call \(\[eval\]:|.* \(node:inspector:)/; /* of the code: no frame below it is the code's */
const OWN_FRAME = /^ *at (?:.* \()?\[eval\]:\d+:\d+\)?(?: \{)?$/;

/* Without the frames of this file and of the inspector that called the code; what comes before and in the message
 * is the code's own. */
function clean(stack, message) {
        if (indexOf(stack, '[eval]:') < 0)
                return stack;
        const at = message ? indexOf(stack, message) : -1, from = at < 0 ? 0 : at + message.length;
        const lines = split(slice(stack, from), '\n');
        let text = slice(stack, 0, from) + lines[0], below = false;
        for (let i = 1; i < lines.length; i++) {
                const line = lines[i];
                if (!startsWith(trim(line), 'at '))
                        below = false;
                else if (test(CALLER, line))
                        below = true;
                if (!below && !test(OWN_FRAME, line))
                        text += '\n' + line;
                else if (line[line.length - 1] === '{') /* properties of the error follow its last frame */
                        text += ' {';
        }
        return text;
}

/* As Node prints it: where the parser stopped, and the line. */
function mark(place, code, name) {
        const line = split(code, '\n')[place.line];
        if (line === undefined || line.length > 1000)
                return '';
        let pointer = '';
        for (let i = 0; i < place.column; i++)
                pointer += line[i] === '\t' ? '\t' : ' ';
        return name + ':' + (place.line + 1) + '\n' + line + '\n' + pointer + '^\n\n';
}

/* Into `told`, bit by bit: all of this is code of the error's, too, and may fail or be interrupted. */
function describe(error, place, told) {
        const native = types.isNativeError(error);
        if (!native && !attempt(() => error instanceof Error, false)) {
                const text = attempt(() => cut(inspect(error, SHOW), TEXT_MAX), '[object whose inspection failed]');
                told.name = 'Uncaught';
                told.message = text;
                told.traceback = 'Uncaught ' + text;
                return;
        }
        const name = attempt(() => toText(error.name), 'Error'), message = attempt(() => toText(error.message), '');
        told.name = cut(name, 200);
        told.message = cut(message, TEXT_MAX);
        told.traceback = told.message ? told.name + ': ' + told.message : told.name;
        const stack = attempt(() => toText(error.stack), told.traceback);
        told.traceback = cut(stack, TRACEBACK_MAX);
        let text = attempt(() => clean(inspect(error, SHOW), message), stack);
        if (place && native && name === 'SyntaxError' && indexOf(stack, '\n    at <run-') < 0)
                text = mark(place, run.code, run.name) + text;
        told.traceback = cut(text, TRACEBACK_MAX);
}

// Values

function result(mime, data) {
        send('result', '{"mime":"' + mime + '","data":' + quote(data) + ',"main":true,"value":0}');
}

/* What JSON would lose silently (a Map becomes {}) is left to the text. */
function is_json(value) {
        switch (typeof value) {
        case 'number':
                return isFinite(value);
        case 'string':
        case 'boolean':
                return true;
        case 'object':
                return value === null || (!types.isMap(value) && !types.isSet(value) && !types.isWeakMap(value) &&
                        !types.isWeakSet(value) && !types.isPromise(value) && !types.isRegExp(value) &&
                        !types.isNativeError(value) && !types.isAnyArrayBuffer(value) && !types.isProxy(value) &&
                        (!types.isArrayBufferView(value) || typeof value.toJSON === 'function') &&
                        !types.isExternal(value) && !types.isGeneratorObject(value) && !types.isModuleNamespaceObject(value));
        default:
                return false;
        }
}

function to_json(value) {
        let values = 0, size = 0;
        return stringify(value, function (key, item) {
                size += key.length + (typeof item === 'string' ? item.length : 1);
                if (++values > JSON_VALUES_MAX || size > DATA_MAX)
                        throw new Error('too much');
                return item;
        });
}

function represent(value) {
        let text, json;
        try {
                text = inspect(value, SHOW);
                if (typeof value === 'object' || typeof value === 'function') /* it may have an error in it */
                        text = clean(text);
        } catch {
                text = '[object whose inspection failed]';
        }
        try {
                if (is_json(value))
                        json = to_json(value);
        } catch {
                /* too large, circular, or its toJSON() failed */
        }
        if (text.length > TEXT_MAX)
                text = slice(text, 0, TEXT_MAX) + '\n[the rest is left out]';
        return { __proto__: null, text, json };
}

/* False if interrupted: a toJSON(), a getter or a proxy is code, too. */
function show(value) {
        let found;
        if (value === null || (typeof value !== 'object' && typeof value !== 'function'))
                found = represent(value);
        else if (interruptible(() => { found = represent(value); }))
                return false;
        if (!found)
                return true;
        result('text/plain', found.text);
        if (typeof found.json === 'string' && toBuffer(found.json, 'utf8').length <= DATA_MAX)
                result('application/json', found.json);
        return true;
}

// Evaluation

/* The inspector gives descriptions of objects; this is how the object itself gets here. */
const holder = { __proto__: null, value: undefined };
let holder_id;

function find_holder() {
        hub.holder = holder;
        call('Runtime.evaluate', '"expression":"globalThis[Symbol.for(\\"cella\\")].holder"',
                (error, answer) => { holder_id = quote(own(own(answer, 'result'), 'objectId')); });
        delete hub.holder;
}

function real(remote) {
        const id = own(remote, 'objectId'), odd = own(remote, 'unserializableValue');
        if (id !== undefined) {
                call('Runtime.callFunctionOn', '"objectId":' + holder_id + ',"functionDeclaration":"function (v) { this.value = v; }",' +
                        '"arguments":[{"objectId":' + quote(id) + '}],"silent":true');
                const value = holder.value;
                holder.value = undefined;
                return value;
        }
        if (odd === undefined)
                return own(remote, 'type') === 'object' ? null : own(remote, 'value');
        return odd[odd.length - 1] === 'n' ? toBig(slice(odd, 0, -1)) : toNumber(odd);
}

/* The code made Node close the inspector. */
function lost() {
        say('this context can run no more code: it must be restarted\n');
        reallyExit(1);
}

function evaluated(mine, error, answer) {
        if (error !== undefined) {
                if (indexOf(error, 'Cannot find ') >= 0)
                        lost();
                return settle(mine, 'error', new Error(error));
        }
        const details = own(answer, 'exceptionDetails');
        if (details !== undefined)
                return settle(mine, 'error', real(own(details, 'exception')),
                        { __proto__: null, line: own(details, 'lineNumber'), column: own(details, 'columnNumber') });
        const value = real(own(answer, 'result'));
        if (types.isPromise(value))
                then(value, (v) => settle(mine, 'value', v), (e) => settle(mine, 'error', e));
        else
                settle(mine, 'value', value);
}

const EVALUATE = '"replMode":true,"objectGroup":"run","silent":true,"expression":';

/* With a timeout, the inspector takes an interrupt back that comes when the code has just ended by itself; else that would
 * reach the inspector's own work, which ends the process then.  It is longer than any run.  Each takes some hundred
 * bytes until it is due, so not every run of very many has one. */
const TIMEOUT = '"timeout":2000000000,', TIMEOUTS_MAX = 50000;

/* Braces at the start are a block; as a value an object is meant, as in Node's own REPL. */
function is_object(code) {
        if (!startsWith(trim(code), '{'))
                return false;
        return attempt(() => new Script('(' + code + '\n)'), null) !== null ||
                attempt(() => new Script('async () => (' + code + '\n)'), null) !== null;
}

function new_run(code, empty) {
        return { __proto__: null, code, empty, name: '', how: '', value: undefined, place: undefined, exit_code: undefined };
}

function start(code) {
        if (globalThis.module === Module) /* Node did that after `-e` had run */
                globalThis.module = here;
        if (run.how || was_interrupted()) { /* before it began */
                run.how = 'interrupted';
                conclude(run);
                return;
        }
        const mine = run = new_run(code, code === '');
        mine.name = '<run-' + ++number + '>';
        let text = indexOf(code, 'import') < 0 ? code : rewrite_imports(code);
        if (is_object(text))
                text = '(' + text + '\n)';
        const forget = keep_promise(calls + 1);
        const stopped = interruptible(() => {
                call('Runtime.evaluate', (number <= TIMEOUTS_MAX ? TIMEOUT : '') + EVALUATE + quote(text + '\n//# sourceURL=' + mine.name),
                        (error, answer) => evaluated(mine, error, answer));
                tick(); /* what the code awaits may be there already: go on where SIGINT can stop it */
        }, unwind);
        forget();
        if (stopped) {
                mine.how = 'interrupted';
                unwind(STOPPED);
        }
        if (run !== mine)
                return;
        if (mine.how)
                conclude(mine);
        else
                poll = startTimer(() => { if (was_interrupted()) on_interrupt(); }, 20);
}

// Imports

const WORD = /[\p{ID_Continue}$\u200c\u200d]+/uy;
const BEFORE_REGEX = /^(?:return|typeof|case|in|of|delete|void|throw|new|else|do|instanceof|await|yield)$/;
const REGEX = /\/(?:[^\/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const STATEMENT = /import\s*(?:([\w$]+)\s*)?(?:,\s*)?(?:\*\s*as\s+([\w$]+)\s*|\{([^{}]*)\}\s*)?(?:\bfrom\s*)?(?:'([^'\n\\]*)'|"([^"\n\\]*)")(?:\s*(?:with|assert)\s*(\{[^{}]*\}))?[ \t]*;?/y;
const CALL = /import\s*\(/y;
const BODY = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*\{/y;
const IMPORT = 'globalThis[Symbol.for("cella")].import';

function match(pattern, text, at) {
        pattern.lastIndex = at;
        return test(pattern, text);
}

/* What `import ... from 'x'` does, said otherwise; as many lines as before. */
function import_statement(found) {
        const first = found[1], all = found[2], some = found[3];
        const call = 'await ' + IMPORT + '(' + stringify(found[4] ?? found[5]) + (found[6] ? ', {with: ' + found[6] + '}' : '') + ')';
        let names = first ? 'default: ' + first + ', ' : '';
        if (some !== undefined)
                names += some.replace(/\s+as\s+/g, ': ');
        const lines = '\n'.repeat(found[0].split('\n').length - 1 - (some === undefined ? 0 : some.split('\n').length - 1));
        if (all)
                return 'const ' + all + ' = ' + call + (first ? ', {' + names + '} = ' + all : '') + ';' + lines;
        return first || some !== undefined ? 'const {' + names + '} = ' + call + ';' + lines : call + ';' + lines;
}

/* Goes through the tokens of the code, as far as needed to tell an import from one in a string, a comment,
 * a template or a regular expression.  Whether a slash divides is guessed from the token before it.  A call that is
 * followed by a body is a method of that name. */
function rewrite_imports(code) {
        let i = 0, before = '', fresh = true;
        const open = []; /* brackets; a template's own is '`', that of a call the number of its edit */
        const edits = []; /* [from, to, text] */
        const push = (item) => { open[open.length] = item; };
        const pop = () => {
                const item = open[open.length - 1];
                if (open.length > 0)
                        open.length--;
                return item;
        };
        const is_method = () => open[open.length - 1] === '{' && match(BODY, code, i + 1);
        const template = () => {
                for (; i < code.length && code[i] !== '`'; i++) {
                        if (code[i] === '\\')
                                i++;
                        else if (code[i] === '$' && code[i + 1] === '{') {
                                push('`');
                                i += 2;
                                before = '{';
                                return;
                        }
                }
                i++;
                before = '`';
        };
        while (i < code.length) {
                const c = code[i];
                if (c === '\n')
                        fresh = true;
                if (c === ' ' || c === '\t' || c === '\n' || c === '\r') {
                        i++;
                        continue;
                }
                if (c === '/' && (code[i + 1] === '/' || code[i + 1] === '*')) {
                        const end = code[i + 1] === '/' ? indexOf(code, '\n', i) : indexOf(code, '*/', i + 2);
                        i = end < 0 ? code.length : code[i + 1] === '/' ? end : end + 2;
                        continue;
                }
                const word = match(WORD, code, i);
                if (word) {
                        if (word[0] === 'import' && before !== '.' && before !== '#') {
                                const call = match(CALL, code, i);
                                const found = !call && fresh && open.length === 0 ? match(STATEMENT, code, i) : null;
                                if (call || found) {
                                        const end = i + (call ?? found)[0].length;
                                        edits[edits.length] = [i, end, call ? IMPORT + slice(call[0], 6) : import_statement(found)];
                                        if (call)
                                                push(edits.length - 1);
                                        i = end;
                                        before = call ? '(' : ';';
                                        fresh = !call;
                                        continue;
                                }
                        }
                        i += word[0].length;
                        before = word[0];
                        fresh = false;
                        continue;
                }
                fresh = false;
                if (c === '"' || c === "'") {
                        for (i++; i < code.length && code[i] !== c && code[i] !== '\n'; i++)
                                if (code[i] === '\\')
                                        i++;
                        i++;
                        before = c;
                } else if (c === '`') {
                        i++;
                        template();
                } else if (c === '/' && (before === '' || test(BEFORE_REGEX, before) || indexOf('(,=:[!&|?{};+-*%~^<>}', before) >= 0) &&
                           match(REGEX, code, i)) {
                        i = REGEX.lastIndex;
                        before = ')';
                } else {
                        if (c === '(' || c === '[' || c === '{') {
                                push(c);
                        } else if (c === ')' || c === ']' || c === '}') {
                                const opened = pop();
                                if (opened === '`') {
                                        i++;
                                        template();
                                        continue;
                                }
                                if (typeof opened === 'number' && is_method())
                                        edits[opened][2] = slice(code, edits[opened][0], edits[opened][1]);
                        }
                        fresh = c === ';' || (c === '}' && open.length === 0);
                        before = c;
                        i++;
                }
        }
        let text = '', done = 0;
        for (let k = 0; k < edits.length; k++) {
                text += slice(code, done, edits[k][0]) + edits[k][2];
                done = edits[k][1];
        }
        return text + slice(code, done);
}

let last_directory = cwd();

/* Code that has no file is where the process is. */
function directory() {
        try {
                last_directory = cwd();
        } catch {
                /* removed */
        }
        return last_directory;
}

hub.import = function (name, options) {
        name = toText(name);
        if (startsWith(name, './') || startsWith(name, '../') || startsWith(name, '/'))
                name = url.pathToFileURL(path.resolve(directory(), name)).href;
        return options === undefined ? import(name) : import(name, options);
};

// The process as the code expects it

function prepare() {
        Object.defineProperty(globalThis, HUB, { value: hub, enumerable: false });
        find_holder();
        /* Else a pipe's output waits in libuv, and is late or out of order. */
        stdout._handle?.setBlocking?.(true);
        stderr._handle?.setBlocking?.(true);
        process.exit = exit;
        process._kill = kill;
        delete process._eval; /* this file */
        process.argv.length = 1;
        process.execArgv.length = 0;
        /* `node -e` made these; they follow the process from directory to directory. */
        const follow = (name, get) => Object.defineProperty(here, name, { get, set() {}, configurable: true, enumerable: true });
        follow('filename', () => path.join(directory(), '[eval]'));
        follow('path', directory);
        follow('paths', () => Module._nodeModulePaths(directory()));
        keep_listening();
}

function includes(list, item) {
        for (let i = 0; i < list.length; i++)
                if (list[i] === item)
                        return true;
        return false;
}

/* Code that removes all listeners would otherwise die of its next mistake. */
function keep_listening() {
        if (inside) /* vm may have taken listeners away for the time being */
                return;
        if (!includes(listeners('uncaughtException'), on_uncaught))
                on('uncaughtException', on_uncaught);
        if (watchdog && !includes(listeners('newListener'), on_new_listener))
                on('newListener', on_new_listener);
        keep_watching();
}

// The socket

let input = alloc(0);

/* One run at a time; the next waits in `input`. */
function next_message() {
        if (run)
                return;
        const end = findByte(input, 10);
        if (end < 0) {
                if (input.length > 64)
                        reallyExit(1);
                return;
        }
        const header = decode(input, 'latin1', 0, end);
        if (!startsWith(header, 'run '))
                reallyExit(1);
        const length = parse(slice(header, 4), 10);
        if (!isSafeInteger(length) || length < 0)
                reallyExit(1);
        if (input.length < end + 1 + length)
                return;
        const code = decode(input, 'utf8', end + 1, end + 1 + length);
        input = toBuffer(bytes(input, end + 1 + length));
        stray = 0;
        was_interrupted(); /* between runs it does not count */
        run = new_run(undefined, length === 0); /* the place is taken; from now on it does */
        later(() => start(code)); /* with arguments Node would spread them, by what the code may have replaced */
}

prepare();
/* With a buffer of our own nothing of what Node's streams need of the language lies between. */
function arrived(n, buffer) {
        input = concat([input, bytes(buffer, 0, n)]);
        next_message();
        return true;
}

const socket = new net.Socket({ fd: SOCKET, readable: true, writable: false,
                                onread: { buffer: Buffer.alloc(64 << 10), callback: arrived } });
socket.on('error', () => reallyExit(1));
socket.on('end', () => reallyExit(0));
socket.on('close', () => reallyExit(0));
send('ready', '');
})();
