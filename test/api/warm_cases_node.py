"""Further cases of test_warm_fidelity.py for node: built-in modules, which a waiting node has loaded."""

from warm_cases import Case

MODULES = """assert async_hooks buffer child_process console crypto diagnostics_channel dns dns/promises events fs fs/promises http http2 https
module net os path path/posix perf_hooks process punycode querystring readline readline/promises stream stream/consumers stream/promises
stream/web string_decoder test timers timers/promises tls tty url util util/types v8 vm worker_threads zlib""".split()  # fmt: skip

# What a module looks like, and what its loading leaves behind.
SHOW = r"""
const show = (o) => typeof o === 'object' && o ? Reflect.ownKeys(o).map((k) => {
  const d = Object.getOwnPropertyDescriptor(o, k);
  return `${String(k)} ${Object.keys(d).filter((n) => d[n] === true)} ${'value' in d ? typeof d.value : 'accessor'}`;
}) : [typeof o, ...Reflect.ownKeys(o).map(String)];
const left = () => [Object.keys(require.cache), process.eventNames(), process._getActiveHandles().length, process._getActiveRequests().length,
  Reflect.ownKeys(globalThis).length, Reflect.ownKeys(process).length, module.children.length, process.getActiveResourcesInfo(),
  setTimeout(() => {}, 0)[Symbol.toPrimitive](), require('async_hooks').executionAsyncId()];
"""


def by_require(name):
    return SHOW + f"const m = require('node:{name}'); console.log(show(m)); if (typeof m === 'function') console.log(show(m.prototype ?? {{}})); console.log(left())"


def by_import(name):
    return SHOW + f"import('node:{name}').then((m) => console.log(show(m), left()))"


EACH = [Case(f"require of {name}", by_require(name), err=name == "punycode", normal=[(r"node:\d+", "node:N")]) for name in MODULES] + [
    Case(f"import of {name}", by_import(name), err=name == "punycode", normal=[(r"node:\d+", "node:N")]) for name in MODULES
]  # fmt: skip

USES = [
    Case("what is loaded at the start", "require('fs').writeSync(1, process.moduleLoadList.join('\\n') + '\\n' + JSON.stringify(Object.getOwnPropertyDescriptor(process, 'moduleLoadList')).slice(-80))"),
    Case("names that code adds are found by import", "for (const [m, n] of [['fs', 'fs/promises'], ['stream', 'stream/promises'], ['timers', 'timers/promises'], ['readline', 'readline/promises'], ['util', 'util/types']]) { const o = require(m)[n.split('/')[1]]; o.added = m; import(n).then((x) => console.log(n, x.added, x.default === o)) }"),
    Case("functions that code replaces are found by import", "require('fs').promises.readFile = 1; require('http').get = 2; const h = require('https'); h.get = 3; import('fs/promises').then((m) => console.log(m.readFile)); import('http').then((m) => console.log(m.get)); import('https').then((m) => { console.log(typeof m.get); require('module').syncBuiltinESMExports(); console.log(m.get) })"),
    Case("prototypes that code changes before require", "Object.prototype.polluted = 1; Array.prototype.map = () => 'no'; EventTarget.prototype.x = 2; globalThis.Promise = class extends Promise {}; const h = require('http'); console.log(h.METHODS.length, h.polluted, new h.Agent().polluted, h.globalAgent.maxSockets); require('zlib').gzip('x', (e, b) => console.log(b.length))"),
    Case("Module._load sees what code requires", "const M = require('module'), l = M._load; M._load = function (n) { console.log('load', n); return l.apply(this, arguments) }; for (const n of ['http', 'crypto', 'os', 'node:zlib', './x']) try { require(n) } catch (e) { console.log(e.code) }"),
    Case("the environment that code sets before it formats", "process.env.LC_ALL = 'de_DE.UTF-8'; process.env.LANG = 'de_DE.UTF-8'; console.log((1234.5).toLocaleString(), new Date(0).toLocaleString(), Intl.NumberFormat().resolvedOptions().locale, 'ä'.localeCompare('z'), ['b', 'a', 'B', 'ä'].sort((a, b) => a.localeCompare(b)))"),
    Case("the time zone that code sets before it formats", "console.log(new Date(0).toLocaleString()); process.env.TZ = 'Asia/Tokyo'; console.log(new Date(0).toString(), new Date(0).toLocaleString(), Intl.DateTimeFormat().resolvedOptions().timeZone)"),
    Case("threads of the pool that code sets", "process.env.UV_THREADPOOL_SIZE = '2'; const c = require('crypto'); let n = 0; for (let i = 0; i < 6; i++) c.pbkdf2('a', 'b', 9, 9, 'sha1', () => ++n === 6 && console.log(require('fs').readdirSync('/proc/self/task').length))"),
    Case("identifiers of asynchronous resources", "const a = require('async_hooks'), seen = []; a.createHook({ init(id, type, trigger) { seen.push([id, type, trigger]) } }).enable(); require('http').createServer().listen(0, function () { this.close(() => console.log(seen.slice(0, 12))) })"),
    Case("a timeout as text", "console.log(setTimeout(() => {}, 1), setImmediate(() => {}))", normal=[(r"_idleStart: \d+", "_idleStart: N")]),
    Case("deprecated functions warn once", "new Buffer(1); new Buffer(2); require('url').parse('http://a:x'); require('util').isArray([]); process.binding('util')", err=True, normal=[(r"node:\d+", "node:N")], exit=None),
    Case("performance: entries, marks, types", "const { performance: p, PerformanceObserver: O } = require('perf_hooks'); console.log(p === performance, p.getEntries().length, O.supportedEntryTypes, p.mark('a').name, p.measure('m', 'a').duration >= 0, Object.keys(p.nodeTiming), p.timeOrigin + p.now() - Date.now() < 1000)"),
    Case("CPU time is that of a process", "console.log(process.cpuUsage().user > 0, process.resourceUsage().maxRSS > 0, process.hrtime().length, typeof process.hrtime.bigint())"),
    Case("HTTP: server, client, agent, headers", "const h = require('http'); h.createServer((q, r) => { r.setHeader('x-a', q.headers.host.slice(0, 9)); q.pipe(r) }).listen(0, '127.0.0.1', function () { const q = h.request({ port: this.address().port, host: '127.0.0.1', method: 'POST', agent: new h.Agent({ keepAlive: true }) }, (r) => { r.on('data', (d) => console.log(r.statusCode, r.rawHeaders.filter((x) => x !== 'Date' && !/GMT/.test(x)), d.toString())).on('end', () => process.exit()) }); q.end('body') })", normal=[(r"127.0.0.1:\d+", "HOST")]),
    Case("HTTPS and TLS: defaults", "const t = require('tls'), h = require('https'); console.log(t.DEFAULT_MIN_VERSION, t.DEFAULT_MAX_VERSION, t.getCiphers().length, t.rootCertificates.length, h.globalAgent.options, h.globalAgent.protocol); h.get('https://127.0.0.1:1/').on('error', (e) => console.log(e.message, e.code))"),
    Case("crypto: hashes, keys, ciphers, random", "const c = require('crypto'); console.log(c.getHashes().length, c.getCiphers().length, c.getFips(), c.createHmac('md5', 'k').update('x').digest('base64'), c.randomInt(5) < 5, c.randomUUID().length); c.generateKeyPair('ec', { namedCurve: 'P-256' }, (e, pub) => console.log(e, pub.asymmetricKeyType)); c.subtle.digest('SHA-1', Buffer.from('a')).then((d) => console.log(Buffer.from(d).toString('hex')))"),
    Case("zlib: streams and errors", "const z = require('zlib'); console.log(z.inflateSync(z.deflateSync('a'.repeat(1000))).length, z.brotliDecompressSync(z.brotliCompressSync('b')).toString()); z.gunzip('not gzip', (e) => console.log(e.code)); z.createGzip().on('data', () => {}).on('end', () => console.log('end')).end('x')"),
    Case("child processes get the same start", "const c = require('child_process'); console.log(c.execFileSync(process.execPath, ['-p', 'process.moduleLoadList.length > 0, [process.execArgv, process.env.NODE_OPTIONS, process.env.LD_PRELOAD, process.env.HOLD_AT]']).toString(), c.execSync('env | sort').toString())"),
    Case("workers start with nothing loaded", "const { Worker, isMainThread, parentPort, workerData, threadId, SHARE_ENV } = require('worker_threads'); if (isMainThread) new Worker(__filename, { workerData: { a: 1 }, env: SHARE_ENV }).on('message', (m) => console.log(m)); else parentPort.postMessage([threadId, workerData, process.moduleLoadList.includes('NativeModule http'), process.eventNames()])"),
    Case("readline: questions from standard input", "const r = require('readline/promises').createInterface({ input: process.stdin, output: process.stdout }); r.question('name? ').then((a) => { console.log('hello', a); r.close() })", stdin="Ann\n"),
    Case("fs/promises, timers/promises, stream/promises", "const f = require('fs/promises'), t = require('timers/promises'), s = require('stream/promises'), { Readable, PassThrough } = require('stream'); (async () => { await f.writeFile('x', 'abc'); console.log(await f.readFile('x', 'utf8'), await t.setTimeout(1, 'v'), (await f.stat('x')).size); await s.pipeline(Readable.from(['a']), new PassThrough().on('data', (d) => console.log(`${d}`))) })()"),
    Case("assert: messages with and without differences", "const a = require('assert'); for (const f of [() => a.deepStrictEqual({ a: 1 }, { a: 2 }), () => a(0), () => a.strictEqual(1, 2), () => a.rejects]) try { f(); console.log('fine') } catch (e) { console.log(e.message, e.code, e.generatedMessage) }"),
    Case("streams after the first output", "console.log(1); const fs = require('fs'); for (const i of [0, 1, 2]) console.log(fs.readFileSync('/proc/self/fdinfo/' + i, 'utf8').split('\\n')[1], 'get' in Object.getOwnPropertyDescriptor(process, ['stdin', 'stdout', 'stderr'][i]))"),
    Case("inspection with options and classes", "const u = require('util'); class A { #p = 1; constructor() { this.x = new Map([[{ a: 1 }, new Set([1])]]) } get y() { return 1 } [u.inspect.custom]() { return 'custom' } } console.log(u.inspect(new A()), u.inspect(new A(), { customInspect: false, showHidden: true, getters: true }), u.inspect.defaultOptions, u.inspect(new Proxy({}, {}), { showProxy: true }), u.format('%o', [1]))"),
    Case("v8 and vm", "const v = require('v8'), vm = require('vm'); console.log(Object.keys(v.getHeapStatistics()), v.deserialize(v.serialize({ a: new Date(0) })), vm.runInNewContext('a + 1', { a: 1 }), vm.isContext({}), v.cachedDataVersionTag() > 0)"),
    Case("weak references and finalizers", "let o = { a: 1 }; const w = new WeakRef(o), f = new FinalizationRegistry(() => console.log('never')); f.register(o, 1); console.log(w.deref().a)"),
    Case("memory within bounds", "const m = process.memoryUsage(); console.log(m.heapUsed < m.heapTotal, m.rss > m.heapTotal, m.external > 0, require('v8').getHeapStatistics().number_of_native_contexts)"),
    Case("an error inside a built-in module, with its frames", "require('fs').readFileSync('/no/such')", exit=1),
    Case("an error of a child, with its frames", "require('child_process').execSync('exit 3', { stdio: 'ignore' })", exit=1, normal=[(r"pid: \d+", "pid: N")]),
    Case("an event without listener", "new (require('events'))().emit('error', new Error('lost'))", exit=1),
    Case("a stream that fails", "require('fs').createReadStream('/no/such')", exit=1),
    Case("an address in use", "const n = require('net'), s = n.createServer().listen(0, () => n.createServer().listen(s.address().port))", exit=1, normal=[(r":::\d+|port: \d+", "PORT")]),
]  # fmt: skip
