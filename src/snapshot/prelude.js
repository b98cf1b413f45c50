// snapshot/prelude.js -- what a waiting Node does before it waits; hold.c gives it to Node as a preloaded module.
//
// It leaves nothing that the code can see (the fidelity tests compare): no handle, asynchronous id, timer, pending
// callback or entry in require.cache, and it does not touch the standard streams, which are not those of the code.
'use strict';
try {
  delete process.env.NODE_OPTIONS;
  delete require.cache[__filename];
  process._preload_modules.length = 0;
  const listed = process.moduleLoadList.length;

  // The first console.log() loads and compiles the modules that write to a pipe and that format.  Here they write to
  // a socket with a handle that does nothing.
  const handle = { writeUtf8String: () => 0, getAsyncId: () => 0 };
  const socket = new (require('net').Socket)({ handle, readable: false, writable: true });
  socket._writeGeneric(false, '1\n', 'utf8', () => {});
  socket.cork();
  const output = new console.Console({ stdout: socket, stderr: socket, colorMode: false });
  output.log('1');
  output.log('%s', 1, { a: [1] });
  output.table([{ a: 1 }]);
  socket._handle = null;

  // Built-in modules that are not loaded at the start.  Left out: assert and test make process.stderr, dns uses an
  // asynchronous id, http2 needs assert; others warn or install hooks (cluster, domain, inspector, punycode, repl); the
  // code of fetch() needs as much memory as all of these.
  for (const name of [
    'child_process', 'crypto', 'http', 'https', 'net', 'os', 'perf_hooks', 'readline', 'tls', 'tty', 'v8', 'vm',
    'worker_threads', 'zlib',
  ])
    require(name);
  // What fs/promises etc. export.  require('fs/promises') would also fix the names that `import` finds there, although
  // the code can still add some.
  for (const name of ['fs', 'readline', 'stream', 'timers']) require(name).promises;

  // Functions whose first call initialises or compiles much.
  (1234.5).toLocaleString();
  new Date(0).toLocaleString();
  new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' }).format(1);
  'a'.localeCompare('b');
  new TextDecoder().decode(new TextEncoder().encode('a'));
  new URL('http://a/?b=c').searchParams.get('b');
  require('crypto').createHash('sha256').update('').digest('hex');
  require('crypto').webcrypto;
  require('http').createServer();
  const fs = require('fs');
  fs.ReadStream;
  fs.statSync('/proc');
  fs.readdirSync('/proc/self/task', { withFileTypes: true });
  fs.mkdirSync('/proc', { recursive: true });
  fs.rmSync('/proc/none', { recursive: true, force: true });
  fs.writeFileSync('/dev/null', '');
  fs.appendFileSync('/dev/null', '');
  require('util').inspect({
    a: [1, 'b', null, undefined, 1n, true, () => 1], m: new Map([[1, {}]]), s: new Set([1]), d: new Date(0), r: /x/,
    c: class {}, e: new Error(''), n: [1, 2, 3, 4, 5, 6, 7],
  }, { depth: 9 });

  process.moduleLoadList.length = listed;

  // Garbage makes V8 collect the young generation now.  Otherwise that would happen while the code runs, because all of
  // the above has nearly filled it: 1 ms, a third of the CPU time of a short program.
  for (let i = 0, garbage; i < 40000; i++) garbage = [i, i, i, i, { i }];

  // Node destroys its environment after its event loop has ended, which takes as long as running the code.  If the
  // code has no listener for the exit, Node instead calls chdir() with a path that does not exist, and chdir() in
  // hold.c ends the process.  The call is made by an 'exit' listener, which is added when process.emit is read for
  // that event.  Therefore the code sees no difference in `process`, and its text is not changed (appended text would
  // appear in the message of a syntax error, or complete an incomplete statement).  It is not added if the code has
  // listeners of its own: Node runs the microtasks and ticks that they queue after the last listener.
  const p = process;
  const { emit, on, listenerCount, reallyExit } = p;
  const listeners = listenerCount.call(p, 'newListener');
  let added = false;
  const end = (code) => {
    if (!code && !p.exitCode && p.reallyExit === reallyExit)
      try {
        p.chdir('/proc/self/the-end-of-node');
      } catch {}
  };
  Object.defineProperty(Object.getPrototypeOf(p), 'emit', {
    configurable: true,
    get() {
      try {
        if (!added && this === p && p._exiting) {
          added = true;
          if (!listenerCount.call(p, 'exit') && listenerCount.call(p, 'newListener') === listeners) on.call(p, 'exit', end);
        }
      } catch {}
      return emit;
    },
    set(value) {
      Object.defineProperty(this, 'emit', { value, writable: true, enumerable: true, configurable: true });
    },
  });
} catch {}
