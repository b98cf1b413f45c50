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
const here = module, Script = vm.Script;

const SOCKET = 3;
const TEXT_MAX = 64 << 10, DATA_MAX = 4 << 20, TRACEBACK_MAX = 256 << 10;
const JSON_VALUES_MAX = 100000;
const SHOW = { __proto__: null, depth: 4, maxArrayLength: 100, maxStringLength: 10000, breakLength: 100 };

const uncurry = (method) => Function.prototype.call.bind(method);
const { stringify } = JSON, { inspect, types } = util, { from: toBuffer, concat, alloc } = Buffer;
const { writeSync, fstatSync } = fs, { isFinite, isSafeInteger } = Number, { wait } = Atomics;
const indexOf = uncurry(String.prototype.indexOf), slice = uncurry(String.prototype.slice);
const split = uncurry(String.prototype.split), startsWith = uncurry(String.prototype.startsWith);
const trim = uncurry(String.prototype.trim), test = uncurry(RegExp.prototype.exec);
const bytes = uncurry(Buffer.prototype.subarray), decode = uncurry(Buffer.prototype.toString);
const findByte = uncurry(Buffer.prototype.indexOf), then = uncurry(Promise.prototype.then);
const toText = String, toBig = BigInt, toNumber = Number, parse = parseInt;
const later = setImmediate, startTimer = setInterval, stopTimer = clearInterval;
const reallyExit = process.reallyExit.bind(process), cwd = process.cwd;
const charge = process.cpuUsage.bind(process);
const listenerCount = process.listenerCount.bind(process), on = process.on.bind(process);
const listeners = process.listeners.bind(process);
const fatal = typeof process._fatalException === 'function' ? process._fatalException.bind(process) : null;
const tick = fatal && typeof process._tickCallback === 'function' ? process._tickCallback : () => {};

const session = new inspector.Session();
session.connect();
const post = session.post.bind(session);

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

// Interrupts

const hub = { __proto__: null, step: null, import: null };
const HUB = Symbol.for('cella');
const script = new vm.Script('globalThis[Symbol.for("cella")].step()', { filename: '[eval]' });
const runScript = script.runInThisContext.bind(script);
const BREAK = { __proto__: null, breakOnSigint: true };
let inside = false;

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
        if (threw && error !== null && typeof error === 'object' && error.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED')
                return true;
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

// The end of a run

function flush(stream, next) {
        if (stream.writableLength > 0 && !stream.destroyed)
                stream.write('', next);
        else
                next();
}

function finish(mine, payload) {
        const done = () => {
                if (run !== mine)
                        return;
                run = null;
                stopTimer(poll);
                post('Runtime.releaseObjectGroup', RUN_OBJECTS);
                keep_listening();
                check_socket();
                charge(); /* by asking; else the next run might be charged for what this one used */
                send('done', payload);
                next_message();
        };
        try {
                flush(stdout, () => flush(stderr, done));
        } catch {
                done();
        }
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
        if (how === 'error' && !(value instanceof Exit && mine.exit_code !== undefined)) {
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
        constructor(code) {
                super('process.exit(' + code + ')');
                this.code = code;
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

/* For when describe() fails. */
function briefly(error) {
        try {
                return cut(types.isNativeError(error) ? toText(error.stack) : 'Error', TEXT_MAX);
        } catch {
                return 'Error';
        }
}

function tell_error(error, place) {
        let told = { name: 'Error', message: '', traceback: briefly(error) };
        interruptible(() => { told = describe(error, place); });
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
        } else if (!(error instanceof Exit)) {
                let text = briefly(error);
                interruptible(() => { text = describe(error).traceback; });
                say(text + '\n');
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
        if (listenerCount('uncaughtException') <= 1 || error instanceof Exit) /* else the code has its own */
                uncaught(error);
}

// Errors

/* Without the frames of this file and of the inspector that called the code. */
function clean(stack) {
        if (indexOf(stack, '[eval]:') < 0)
                return stack;
        const lines = split(stack, '\n');
        let text = '', below = false;
        for (let i = 0; i < lines.length; i++) {
                const line = lines[i];
                if (!startsWith(trim(line), 'at '))
                        below = false;
                else if (indexOf(line, '(node:inspector:') >= 0)
                        below = true;
                if (!below && indexOf(line, '[eval]:') < 0)
                        text += (text ? '\n' : '') + line;
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

function describe(error, place) {
        if (!types.isNativeError(error) && !(error instanceof Error)) {
                const text = cut(inspect(error, SHOW), TEXT_MAX);
                return { name: 'Uncaught', message: text, traceback: 'Uncaught ' + text };
        }
        const stack = toText(error.stack);
        const text = clean(inspect(error, SHOW));
        let traceback = text;
        if (place && types.isNativeError(error) && error.name === 'SyntaxError' && indexOf(stack, '\n    at <run-') < 0)
                traceback = mark(place, run.code, run.name) + text;
        return { name: cut(toText(error.name), 200), message: cut(toText(error.message), TEXT_MAX),
                 traceback: cut(traceback, TRACEBACK_MAX) };
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
                text = clean(inspect(value, SHOW));
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
        return { text, json };
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
const holder = { value: undefined };
const RUN_OBJECTS = { objectGroup: 'run' };
let holder_id;

function find_holder() {
        hub.holder = holder;
        post('Runtime.evaluate', { expression: 'globalThis[Symbol.for("cella")].holder' },
                (error, answer) => { holder_id = answer.result.objectId; });
        delete hub.holder;
}

function real(remote) {
        if (remote.objectId !== undefined) {
                post('Runtime.callFunctionOn', { objectId: holder_id, functionDeclaration: 'function (v) { this.value = v; }',
                        arguments: [{ objectId: remote.objectId }], silent: true });
                const value = holder.value;
                holder.value = undefined;
                return value;
        }
        const odd = remote.unserializableValue;
        if (odd === undefined)
                return remote.type === 'object' ? null : remote.value;
        return odd[odd.length - 1] === 'n' ? toBig(slice(odd, 0, -1)) : toNumber(odd);
}

function evaluated(mine, error, answer) {
        if (error)
                return settle(mine, 'error', new Error(error.message));
        const details = answer.exceptionDetails;
        if (details)
                return settle(mine, 'error', real(details.exception), { line: details.lineNumber, column: details.columnNumber });
        const value = real(answer.result);
        if (types.isPromise(value))
                then(value, (v) => settle(mine, 'value', v), (e) => settle(mine, 'error', e));
        else
                settle(mine, 'value', value);
}

/* Braces at the start are a block; as a value an object is meant, as in Node's own REPL. */
function is_object(code) {
        if (!startsWith(trim(code), '{'))
                return false;
        try {
                new Script('(' + code + '\n)');
                return true;
        } catch {
                return false;
        }
}

function start(code) {
        if (globalThis.module === Module) /* Node did that after `-e` had run */
                globalThis.module = here;
        if (run.how || was_interrupted()) { /* before it began */
                run.how = 'interrupted';
                conclude(run);
                return;
        }
        const mine = run = { code, name: '<run-' + ++number + '>', how: '', exit_code: undefined };
        let text = indexOf(code, 'import') < 0 ? code : rewrite_imports(code);
        if (is_object(text))
                text = '(' + text + '\n)';
        const stopped = interruptible(() => {
                post('Runtime.evaluate', { expression: text + '\n//# sourceURL=' + mine.name, replMode: true,
                        objectGroup: 'run', silent: true }, (error, answer) => evaluated(mine, error, answer));
                tick(); /* what the code awaits may be there already: go on where SIGINT can stop it */
        }, unwind);
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
const IMPORT = 'globalThis[Symbol.for("cella")].import';

function match(pattern, text, at) {
        pattern.lastIndex = at;
        return test(pattern, text);
}

/* What `import ... from 'x'` does, said otherwise; as many lines as before. */
function import_statement(found) {
        const [, first, all, some] = found;
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
 * a template or a regular expression.  Whether a slash divides is guessed from the token before it. */
function rewrite_imports(code) {
        let text = '', done = 0, i = 0, before = '', fresh = true;
        const open = []; /* brackets; a template's own is '`' */
        const template = () => {
                for (; i < code.length && code[i] !== '`'; i++) {
                        if (code[i] === '\\')
                                i++;
                        else if (code[i] === '$' && code[i + 1] === '{') {
                                open.push('`');
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
                        const end = code[i + 1] === '/' ? code.indexOf('\n', i) : code.indexOf('*/', i + 2);
                        i = end < 0 ? code.length : code[i + 1] === '/' ? end : end + 2;
                        continue;
                }
                const word = match(WORD, code, i);
                if (word) {
                        if (word[0] === 'import' && before !== '.') {
                                const rest = /^import\s*\(/.exec(code.slice(i, i + 200));
                                const found = !rest && fresh && open.length === 0 ? match(STATEMENT, code, i) : null;
                                if (rest || found) {
                                        text += code.slice(done, i) + (rest ? IMPORT : import_statement(found));
                                        i += rest ? 6 : found[0].length;
                                        done = i;
                                        before = rest ? 'import' : ';';
                                        fresh = !rest;
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
                } else if (c === '/' && (before === '' || BEFORE_REGEX.test(before) || '(,=:[!&|?{};+-*%~^<>}'.includes(before)) &&
                           match(REGEX, code, i)) {
                        i = REGEX.lastIndex;
                        before = ')';
                } else {
                        if (c === '(' || c === '[' || c === '{')
                                open.push(c);
                        else if ((c === ')' || c === ']' || c === '}') && open.pop() === '`') {
                                i++;
                                template();
                                continue;
                        }
                        fresh = c === ';' || (c === '}' && open.length === 0);
                        before = c;
                        i++;
                }
        }
        return text + code.slice(done);
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

const stdout = process.stdout, stderr = process.stderr;

function prepare() {
        Object.defineProperty(globalThis, HUB, { value: hub, enumerable: false });
        find_holder();
        /* Else a pipe's output waits in libuv, and is late or out of order. */
        stdout._handle?.setBlocking?.(true);
        stderr._handle?.setBlocking?.(true);
        process.exit = exit;
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
        run = { code: undefined, how: '', exit_code: undefined }; /* the place is taken; from now on it does */
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
