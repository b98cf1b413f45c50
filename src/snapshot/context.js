/* context.js -- the driver of a Node context: receives code on a socket, runs it, keeps its variables.
 *
 * It also runs the code of an execution with `rich`, see run_once().
 *
 * It runs inside the sandbox as `node -e`. The code shares the process and its globals with this file. So
 * this file keeps the functions that it uses in its own constants and uses no prototype that the code can
 * change (no array methods, no for-of; the methods that it needs are bound below).
 *
 * Code is evaluated in V8's REPL mode (as in the console of a browser's developer tools), through an
 * inspector session to the same thread. Only this mode allows `let`, `const` and `class` to be declared again
 * in a later run, `await` at the top level, and access to the value of the last statement, without rewriting
 * the code. It does not support import, so `import(...)` and import statements are rewritten: see
 * rewrite_imports().
 *
 * SIGINT: while the code runs synchronously, vm's breakOnSigint stops it, even in `while (true) {}`; while it
 * awaits, a timer checks for the signal (was_interrupted()). An endless loop that begins in a callback of a
 * timer or of I/O can be stopped only by ending the process: Node has no function for that. */
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

const CALLER = /^ *at (?:call \(\[eval\]:|.* \(node:inspector:)/;
const OWN_FRAME = /^ *at (?:.* \()?\[eval\]:\d+:\d+\)?(?: \{)?$/;

/* The code of an execution with `rich`: see run_once(). */
const ONCE = Symbol.for('cella.once'), once = globalThis[ONCE];
delete globalThis[ONCE];

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

/* The current run, or null. */
let run = null;
let number = 0;
let poll; /* checks for SIGINT while the run awaits something */

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
                                /* the socket is non-blocking, because libuv reads from it */
                                wait(nap, 0, 0, 1);
                }
        }
}

/* The code may close the descriptor and open another file with the same number: never write to that. */
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
                if (once === undefined)
                        reallyExit(1);
        }
}

/* Runs the code of an execution with `rich` as `node -e` does, and sends its value, unless the code has closed the
 * socket. */
function run_once(code) {
        attempt(() => delete process._eval); /* the text of this file */
        const names = { require, module, exports, __filename, __dirname };
        for (const name in names) /* if this is not `node -e`, which has created them, but a file */
                if (!(name in globalThis))
                        Object.defineProperty(globalThis, name, { value: names[name], writable: true, configurable: true });
        const loader = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER ?? ((name) => import(name));
        const { emitWarning } = process;
        process.emitWarning = function (warning, ...more) { /* import() would warn that the loader is experimental */
                if (typeof warning !== 'string' || indexOf(warning, 'USE_MAIN_CONTEXT_DEFAULT_LOADER') < 0)
                        emitWarning.call(process, warning, ...more);
        };
        const program = new Script(code, { filename: '[eval]', importModuleDynamically: loader });
        const value = program.runInThisContext();
        if (value === undefined || attempt(() => fstatSync(SOCKET).ino, 0) !== socket_inode)
                return;
        const found = represent(value);
        result('text/plain', found.text);
        if (typeof found.json === 'string' && toBuffer(found.json, 'utf8').length <= DATA_MAX)
                result('application/json', found.json);
}

if (once !== undefined)
        return run_once(once);

/* JSON.stringify() writes lone surrogates as escapes, which the daemon rejects; toBuffer() replaces them by
 * U+FFFD. */
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

let calls = 0, waiting = { __proto__: null }; /* callbacks by call number */
const promises = { __proto__: null }; /* promises of unfinished runs by call number */

function heard(message) {
        const answer = fromJson(message), id = own(answer, 'id'), callback = waiting[id];
        delete waiting[id];
        delete promises[id];
        callback?.(own(own(answer, 'error'), 'message'), own(answer, 'result'));
}

/* inspector.Session builds its messages from objects with a prototype, which the code may have changed. */
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

/* The parameters are JSON text. */
function call(method, params, callback) {
        const id = ++calls;
        if (callback)
                waiting[id] = callback;
        dispatch('{"id":' + id + ',"method":"' + method + '","params":{' + params + '}}');
}

/* Keeps the promise of a run alive. The inspector waits for this promise but does not reference it. If
 * nothing can resolve it any more, the inspector reports that during garbage collection, and from Node 22 on
 * this ends the process. The run's promise is the first one that is created. */
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
let torn = false; /* a run was interrupted since the last one ended */

/* Calls f() so that SIGINT can stop it at any point, and returns whether that happened. Because of that f()
 * sends nothing. Exceptions of f() are passed to failed(). */
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

/* vm handles SIGINT only while it runs something; at other times the signal would kill the process. If vm's
 * own watchdog runs permanently, SIGINT is recorded between runs, and vm changes nothing. Node does not
 * document the watchdog. Without it a listener is used, and the signal can kill the process for short
 * moments. If the code has its own listeners for SIGINT, those are called while nothing runs. */
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
                touched = true; /* Node has set its own handler, or will soon */
}

function on_interrupt() {
        if (run && run.code === undefined)
                run.how = 'interrupted';
        else if (run)
                settle(run, 'interrupted');
}

/* Returns whether SIGINT arrived since the last call. */
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

/* Waits for a signal that the watchdog's thread has not handled yet. Stopping the thread waits until it runs,
 * but leaves unhandled signals to the next thread, which gets some time for them; this is done three times.
 * Between two threads SIGINT kills the process; the daemon sends none then. */
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

/* Returns the ID of another thread of this process, which kill(2) treats like the process ID; 0: none
 * found. */
function other_thread() {
        const threads = attempt(() => readdirSync('/proc/self/task'), []);
        if (includes(threads, toText(pid))) /* otherwise the IDs belong to another namespace */
                for (let i = 0; i < threads.length; i++)
                        if (toNumber(threads[i]) !== pid)
                                return toNumber(threads[i]);
        return 0;
}

/* Node closes the inspector when the process sends itself a signal without a listener, because the process
 * will probably not survive; but here it survives SIGINT. */
function kill(target, number) {
        const thread = toNumber(target) === pid && number > 0 ? other_thread() : 0;
        const failed = sendSignal(thread || target, number);
        if (thread && number === SIGINT && inside)
                wait(nap, 0, 0, 100); /* the signal stops the code here, not in a later statement */
        return failed;
}

// The end of a run

const stdout = process.stdout, stderr = process.stderr;

function options_of(stream) {
        const { highWaterMark, decodeStrings, emitClose, autoDestroy } = stream._writableState;
        return { __proto__: null, highWaterMark, decodeStrings, emitClose, autoDestroy };
}

const stdout_options = options_of(stdout), stderr_options = options_of(stderr);

/* Returns whether the stream has no pending output. Both streams write synchronously, so pending output is
 * corked, or is being written (for a turn or two, if the pipe does not block), or a write was interrupted:
 * such a write never ends, and all later ones would wait for it. */
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
                /* updates the CPU time in the kernel, so that it is charged to this run and not to the
                 * next */
                charge();
                send('done', payload);
                next_message();
        };
        flush(stdout, stdout_options, 3, () => flush(stderr, stderr_options, 3, done));
}

/* Records how the run ended; only the first call counts. It is sent as soon as no code is on the stack. */
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

/* process.exit() counts even if the code catches this exception and continues. */
class Exit extends Error {
        #code;

        constructor(code) {
                super('process.exit(' + code + ')');
                this.#code = code;
        }

        /* `instanceof` would call the code of a proxy. */
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
        const description = { __proto__: null, name: 'Error', message: '', traceback: 'Error' };
        interruptible(() => describe(error, place, description));
        say(description.traceback + '\n');
        send('error', '{"name":' + quote(description.name) + ',"message":' + quote(description.message) + ',"traceback":' +
                quote(description.traceback) + '}');
}

const STRAY_MAX = 1000;
let stray = 0; /* errors since the last run */

/* Handles an error of a timer, a callback or an unhandled promise. */
function uncaught(error) {
        if (run && run.code !== undefined && !run.how) {
                settle(run, 'error', error);
        } else if (++stray > STRAY_MAX) {
                reallyExit(1); /* the code has changed something that Node needs, and Node would not end */
        } else if (!Exit.is(error)) {
                const description = { __proto__: null, traceback: 'Error' };
                interruptible(() => describe(error, undefined, description));
                say(description.traceback + '\n');
        }
}

/* An interrupted tick() did not restore Node's state of asynchronous calls, and Node would end the process
 * because of that. Node's handler for uncaught exceptions cleans this state up. */
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
        /* otherwise the code has its own listener */
        if (listenerCount('uncaughtException') <= 1 || Exit.is(error))
                uncaught(error);
}

// Errors

/* the caller of the code: no frame below it belongs to the code */
/* Removes the frames of this file and of the inspector that called the code. The frames above them and the
 * message belong to the code. */
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

/* The line and the position of a syntax error, in the form that Node prints. */
function mark(place, code, name) {
        const line = split(code, '\n')[place.line];
        if (line === undefined || line.length > 1000)
                return '';
        let pointer = '';
        for (let i = 0; i < place.column; i++)
                pointer += line[i] === '\t' ? '\t' : ' ';
        return name + ':' + (place.line + 1) + '\n' + line + '\n' + pointer + '^\n\n';
}

/* Fills `description` step by step: every step may call code of the error object, and may fail or be interrupted. */
function describe(error, place, description) {
        const native = types.isNativeError(error);
        if (!native && !attempt(() => error instanceof Error, false)) {
                const text = attempt(() => cut(inspect(error, SHOW), TEXT_MAX), '[object whose inspection failed]');
                description.name = 'Uncaught';
                description.message = text;
                description.traceback = 'Uncaught ' + text;
                return;
        }
        const name = attempt(() => toText(error.name), 'Error'), message = attempt(() => toText(error.message), '');
        description.name = cut(name, 200);
        description.message = cut(message, TEXT_MAX);
        description.traceback = description.message ? description.name + ': ' + description.message : description.name;
        const stack = attempt(() => toText(error.stack), description.traceback);
        description.traceback = cut(stack, TRACEBACK_MAX);
        let text = attempt(() => clean(inspect(error, SHOW), message), stack);
        if (place && native && name === 'SyntaxError' && indexOf(stack, '\n    at <run-') < 0)
                text = mark(place, run.code, run.name) + text;
        description.traceback = cut(text, TRACEBACK_MAX);
}

// Values

function result(mime, data) {
        send('result', '{"mime":"' + mime + '","data":' + quote(data) + ',"main":true,"value":0}');
}

/* Returns false for values that JSON would lose silently (a Map becomes {}): they are shown as text only. */
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
                /* the text may contain a stack trace */
                if (typeof value === 'object' || typeof value === 'function')
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

/* Returns false if interrupted: a toJSON(), a getter or a proxy is code, too. */
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

/* The inspector returns descriptions of objects; this passes the object itself. */
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

/* The code has made Node close the inspector. */
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

/* With a timeout, the inspector cancels an interrupt that arrives just after the code has ended. Otherwise
 * the interrupt would hit the inspector's own work, which would end the process. The timeout is longer than
 * any run. Each one uses some hundred bytes until it expires, so only the first runs have one. */
const TIMEOUT = '"timeout":2000000000,', TIMEOUTS_MAX = 50000;

/* Braces at the start would be a block; as in Node's own REPL they are treated as an object. */
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
        if (globalThis.module === Module) /* Node sets this after `-e` has run */
                globalThis.module = here;
        if (run.how || was_interrupted()) { /* before the code began */
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
                /* if the awaited value is already available, continue here, where SIGINT can stop the code */
                tick();
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

/* Returns code with the effect of `import ... from 'x'` and the same number of lines. */
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

/* Scans the tokens of the code, as far as needed to distinguish imports from text in a string, a comment, a
 * template or a regular expression. The token before a slash decides whether it divides. A call that is
 * followed by a body is a method of that name. */
function rewrite_imports(code) {
        let i = 0, before = '', fresh = true;
        const open = []; /* brackets; '`' for a template; the index of its edit for a call */
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

/* Code without a file is treated as if it were in the current directory. */
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
        /* Otherwise libuv buffers output to a pipe, and it is late or out of order. */
        stdout._handle?.setBlocking?.(true);
        stderr._handle?.setBlocking?.(true);
        process.exit = exit;
        process._kill = kill;
        delete process._eval; /* the text of this file */
        process.argv.length = 1;
        process.execArgv.length = 0;
        /* `node -e` has created these properties; here they follow the current directory. */
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

/* Without our listener the next error of the code would end the process. Code may remove all listeners. */
function keep_listening() {
        if (inside) /* vm may have removed listeners temporarily */
                return;
        if (!includes(listeners('uncaughtException'), on_uncaught))
                on('uncaughtException', on_uncaught);
        if (watchdog && !includes(listeners('newListener'), on_new_listener))
                on('newListener', on_new_listener);
        keep_watching();
}

// The socket

let input = alloc(0);

/* Starts the next run, unless one is active; further messages wait in `input`. */
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
        was_interrupted(); /* discards a signal from between two runs */
        run = new_run(undefined, length === 0); /* `run` is set; from now on a signal counts */
        /* not later(start, code): Node would spread the arguments with functions that the code may have
         * replaced */
        later(() => start(code));
}

prepare();
/* With a buffer of its own, reading uses no function of Node's streams that the code can change. */
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
