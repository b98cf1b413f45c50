"""Ordinary programs work: the walls are not too tight."""

import os
import shutil
import subprocess

from support import Skip, expect, is_root, prints, run, same, script, test, write


def python(name, *lines, out="ok\n", options=(), **kwargs):
    test(lambda: prints(out, *options, "python3", "-c", script(*lines)), name=f"python_{name}", **kwargs)


def node(name, *lines, out="ok\n", options=()):
    test(lambda: prints(out, *options, "node", "-c", script(*lines)), name=f"node_{name}")


def need(program):
    if not shutil.which(program, path="/usr/bin:/bin"):
        raise Skip(f"no {program} on this machine")


# Python.

python(
    "threads_work",
    "import threading, queue",
    "q = queue.Queue()",
    "ts = [threading.Thread(target=lambda i=i: q.put(i * i)) for i in range(20)]",
    "[t.start() for t in ts]; [t.join() for t in ts]",
    "print(sorted(q.queue) == [i * i for i in range(20)] and 'ok')",
)

for method in ("fork", "spawn", "forkserver"):
    def processes(method=method):
        write("m.py", script(
            "import multiprocessing as m",
            "def square(q, x): q.put(x * x)",
            "if __name__ == '__main__':",
            f"    c = m.get_context('{method}')",
            "    q = c.Queue(); p = c.Process(target=square, args=(q, 7)); p.start()",
            "    print(q.get()); p.join(); print(p.exitcode)",
        ))
        prints("49\n0\n", "python3", "m.py")

    test(processes, name=f"python_multiprocessing_{method}_works")


@test
def python_pool_works():
    write("pool.py", script(
        "from multiprocessing import Pool",
        "def f(x): return x * x",
        "if __name__ == '__main__':",
        "    with Pool(4) as p: print(sum(p.map(f, range(100))))",
    ))
    prints("328350\n", "python3", "pool.py")


@test
def python_process_executor_works():
    write("pool.py", script(
        "from concurrent.futures import ProcessPoolExecutor",
        "if __name__ == '__main__':",
        "    with ProcessPoolExecutor(2) as p: print(list(p.map(abs, [-1, -2, 3])))",
    ))
    prints("[1, 2, 3]\n", "python3", "pool.py")


python(
    "shared_memory_works",
    "from multiprocessing import shared_memory, Process, Lock, Value",
    "s = shared_memory.SharedMemory(create=True, size=100)",
    "def f(name, v):",
    "    t = shared_memory.SharedMemory(name); t.buf[0] = 42; t.close()",
    "    with v.get_lock(): v.value += 1",
    "v = Value('i', 0)",
    "p = Process(target=f, args=(s.name, v)); p.start(); p.join()",
    "print(s.buf[0], v.value); s.close(); s.unlink()",
    out="42 1\n",
)
python(
    "subprocess_works",
    "import subprocess",
    "print(subprocess.check_output('echo a | tr a b', shell=True, text=True), end='')",
    "print(subprocess.run(['cat'], input=b'x' * 200000, capture_output=True).stdout == b'x' * 200000)",
    "print(subprocess.run(['sh', '-c', 'exit 3']).returncode)",
    "p = subprocess.Popen(['sleep', '60']); p.terminate(); print(p.wait())",
    out="b\nTrue\n3\n-15\n",
)
for family, address in (("AF_INET", "127.0.0.1"), ("AF_INET6", "::1")):
    python(
        f"tcp_on_loopback_works_{'v6' if '6' in family else 'v4'}",
        "import socket, threading",
        f"s = socket.create_server(('{address}', 0), family=socket.{family})",
        "def serve():",
        "    c, _ = s.accept(); c.sendall(c.recv(100).upper()); c.close()",
        "threading.Thread(target=serve).start()",
        f"c = socket.create_connection(('{address}', s.getsockname()[1])); c.sendall(b'hello')",
        "print(c.recv(100).decode())",
        out="HELLO\n",
    )
python(
    "udp_and_unix_sockets_work",
    "import socket",
    "a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))",
    "a.bind(('127.0.0.1', 0)); b.sendto(b'udp', a.getsockname()); print(a.recv(9))",
    "c, d = socket.socketpair(); c.send(b'pair'); print(d.recv(9))",
    "e = socket.socket(socket.AF_UNIX); e.bind('\\0abstract'); e.listen()",
    "f = socket.socket(socket.AF_UNIX); f.connect('\\0abstract'); f.send(b'abs'); print(e.accept()[0].recv(9))",
    out="b'udp'\nb'pair'\nb'abs'\n",
)
python(
    "http_server_works",
    "import http.server, threading, urllib.request",
    "s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)",
    "s.RequestHandlerClass.log_message = lambda *a: None",
    "open('page', 'w').write('content')",
    "threading.Thread(target=s.serve_forever, daemon=True).start()",
    "print(urllib.request.urlopen(f'http://localhost:{s.server_port}/page').read().decode())",
    out="content\n",
)
python(
    "asyncio_works",
    "import asyncio",
    "async def handle(r, w): w.write((await r.readline()).upper()); await w.drain(); w.close()",
    "async def main():",
    "    s = await asyncio.start_server(handle, '127.0.0.1', 0)",
    "    r, w = await asyncio.open_connection(*s.sockets[0].getsockname()); w.write(b'abc\\n')",
    "    print(await r.readline())",
    "    p = await asyncio.create_subprocess_exec('echo', 'sub', stdout=asyncio.subprocess.PIPE)",
    "    print((await p.communicate())[0], await asyncio.to_thread(lambda: 'thread'))",
    "asyncio.run(main())",
    out="b'ABC\\n'\nb'sub\\n' thread\n",
)
python(
    "sqlite_works",
    "import sqlite3",
    "d = sqlite3.connect('/workspace/db'); d.execute('pragma journal_mode=wal')",
    "d.execute('create table t(x)'); d.executemany('insert into t values(?)', [(i,) for i in range(1000)]); d.commit()",
    "print(sqlite3.connect('/workspace/db').execute('select sum(x) from t').fetchone()[0])",
    out="499500\n",
)
python(
    "tempfile_works",
    "import tempfile, os",
    "with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile(dir=d) as f, tempfile.TemporaryFile() as g:",
    "    f.write(b'x'); g.write(b'y'); g.seek(0); print(os.path.dirname(d), g.read())",
    out="/tmp b'y'\n",
)
python(
    "file_calls_work",
    "import os, fcntl, mmap, select, signal, time",
    "f = open('f', 'w+b'); f.write(bytes(8192)); f.flush()",
    "m = mmap.mmap(f.fileno(), 8192); m[0] = 1; m.flush(); m.close()",
    "fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX); os.fsync(f.fileno()); os.ftruncate(f.fileno(), 100)",
    "os.symlink('f', 's'); os.link('f', 'h'); os.rename('h', 'r'); os.chmod('r', 0o600); os.utime('r', (1, 1))",
    "os.mkfifo('p'); os.posix_fallocate(f.fileno(), 0, 4096); os.sendfile(f.fileno(), f.fileno(), 0, 10)",
    "os.copy_file_range(f.fileno(), os.open('c', os.O_CREAT | os.O_RDWR), 10)",
    "e = select.epoll(); r, w = os.pipe(); e.register(r, select.EPOLLIN); os.write(w, b'x'); assert e.poll(1)",
    "os.memfd_create('m'); os.eventfd(1); os.getrandom(8); os.sched_yield(); os.sched_getaffinity(0); os.getloadavg()",
    "os.setpgid(0, 0); os.nice(1); os.getpriority(os.PRIO_PROCESS, 0); os.pidfd_open(os.getpid()); os.statvfs('/tmp')",
    "signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(0.05)",
    "signal.sigtimedwait([signal.SIGUSR1], 0.01); os.getxattr; os.listxattr('f')",
    "print('ok')",
)
python(
    "standard_library_imports",
    "import bz2, ctypes, curses, dbm, decimal, hashlib, locale, lzma, readline, ssl, uuid, zlib, zoneinfo",
    "import xml.etree.ElementTree",
    "print(uuid.uuid4().version, ctypes.CDLL(None).getpid() > 1, zoneinfo.ZoneInfo('Europe/Berlin').key)",
    out="4 True Europe/Berlin\n",
)
python(
    "ctypes_callbacks_work",
    "import ctypes",
    "F = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))",
    "a = (ctypes.c_int * 3)(3, 1, 2)",
    "ctypes.CDLL(None).qsort(a, 3, 4, F(lambda x, y: x[0] - y[0])); print(list(a))",
    out="[1, 2, 3]\n",
)


python(
    "advice_about_files_returns_without_error",
    "import os",
    "fd = os.open('/usr/lib/os-release', os.O_RDONLY)",
    "for advice in range(6): os.posix_fadvise(fd, 0, 0, advice)",
    "print('ok')",
)

# libnuma's numa_available() takes EPERM from get_mempolicy for a machine without NUMA; a queue that could not be opened is not made.
python(
    "calls_that_are_closed_fail_cleanly",
    "import ctypes, errno, mmap, os",
    "libc = ctypes.CDLL(None, use_errno=True)",
    "def call(name, *words): return 0 if getattr(libc, name)(*words) >= 0 else errno.errorcode[ctypes.get_errno()]",
    "number = {'x86_64': (239, 238, 237), 'aarch64': (236, 237, 235)}[os.uname().machine]",
    "print(*(call('syscall', n, 0, 0, 0, 0, 0, 0) for n in number))",
    "print(call('mq_open', b'/q', 0o302, 0o600, None), call('mq_open', b'/q', 0o302, 0o600, None), call('mq_unlink', b'/q'))",
    "m = mmap.mmap(-1, 4096)",
    "at = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(m)))",
    "print(*(call('madvise', at, ctypes.c_size_t(4096), advice) for advice in (12, 20, 21, 4)), call('prctl', 67, 1, 0, 0, 0))",
    out="EPERM EPERM EPERM\nENOSYS ENOSYS ENOSYS\nEPERM EPERM EPERM 0 EPERM\n",
)


@test
def numpy_works():
    if subprocess.run(["/usr/bin/python3", "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode:
        raise Skip("no numpy on this machine")
    prints("333283335000 True\n", "python3", "-c", script(
        "import numpy as n",
        "a = n.arange(9999.0).reshape(99, 101); b = a @ a.T",
        "print((n.arange(10000) ** 2).sum(), n.allclose(b, b.T))",
    ))


# Node.

node(
    "worker_threads_work",
    "const { Worker } = require('worker_threads')",
    "const w = new Worker(\"require('worker_threads').parentPort.postMessage(6 * 7)\", { eval: true })",
    "w.on('message', m => console.log(m))",
    out="42\n",
)
node(
    "http_server_works",
    "const http = require('http')",
    "const s = http.createServer((q, a) => a.end('served ' + q.url)).listen(0, '127.0.0.1', () =>",
    "  http.get({ port: s.address().port, host: '127.0.0.1', path: '/x' }, a => {",
    "    a.setEncoding('utf8'); a.on('data', d => { console.log(d); s.close(); process.exit() }) }))",
    out="served /x\n",
)
node(
    "fetch_from_localhost_works",
    "const s = require('http').createServer((q, a) => a.end('fetched')).listen(0, async () => {",
    "  console.log(await (await fetch(`http://localhost:${s.address().port}/`)).text()); process.exit() })",
    out="fetched\n",
)
node(
    "child_process_works",
    "const c = require('child_process')",
    "console.log(c.execSync('echo a | tr a b').toString().trim(), c.spawnSync('sh', ['-c', 'exit 3']).status)",
    "const f = c.spawn('cat'); f.stdout.on('data', d => console.log(d.toString())); f.stdin.end('through')",
    out="b 3\nthrough\n",
)
node(
    "fs_watch_works",
    "const fs = require('fs')",
    "const w = fs.watch('/workspace', (e, n) => { console.log(n); w.close(); process.exit() })",
    "setTimeout(() => fs.writeFileSync('/workspace/seen', 'x'), 20)",
    out="seen\n",
)
node(
    "promises_crypto_and_zlib_work",
    "const fs = require('fs/promises'), z = require('zlib'), c = require('crypto');",
    "(async () => { await fs.writeFile('f', 'x'.repeat(9)); const b = z.gunzipSync(z.gzipSync(await fs.readFile('f')))",
    "  c.pbkdf2('p', 's', 10, 8, 'sha256', (e, k) => console.log(b.length, k.length)) })()",
    out="9 8\n",
)
node(
    "jit_compiles",
    "function f(n) { let s = 0; for (let i = 0; i < n; i++) s = (s + i * i) % 1000003; return s }",
    "let r; for (let k = 0; k < 20; k++) r = f(200000); console.log(r)",
    "console.log(new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])) instanceof WebAssembly.Module)",
    out=f"{sum(i * i for i in range(200000)) % 1000003}\ntrue\n",
)


# Others.


@test
def c_program_compiles_and_runs():
    code = script(
        "cat > a.c <<'E'", "#include <stdio.h>", 'int main(void) { printf("%d\\n", 6 * 7); return 3; }', "E",
        "gcc -O2 -o a a.c && ./a",
    )
    expect(run("sh", "-c", code), rc=3, out="42\n")


@test
def cplusplus_program_compiles_and_runs():
    need("g++")
    code = script(
        "cat > a.cc <<'E'", "#include <iostream>", "#include <thread>",
        "int main() { int x = 0; std::thread t([&] { x = 42; }); t.join(); std::cout << x << std::endl; }",
        "E", "g++ -pthread -o a a.cc && ./a",
    )
    prints("42\n", "sh", "-c", code)


@test
def git_works():
    code = script(
        "set -e", "git init -q -b main repo", "cd repo", "git config user.email a@b", "git config user.name n",
        "echo x > f", "git add f", "git commit -qm first", "git checkout -qb other", "echo y >> f",
        "git commit -qam second",
        "git log --format=%s", "git clone -q . ../copy", "git -C ../copy fsck", "cat ../copy/f",
    )
    prints("second\nfirst\nx\ny\n", "sh", "-c", code)


@test
def perl_forks_and_connects():
    prints("child 7\nHELLO\n", "perl", "-c", script(
        "use IO::Socket::INET; $| = 1;",
        "my $p = fork(); if (!$p) { exit 7 } waitpid($p, 0); print 'child ', $? >> 8, qq(\\n);",
        "my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die $!;",
        "if (!fork()) { my $c = $s->accept; print $c uc(<$c>); exit }",
        "my $c = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $s->sockport) or die $!;",
        "print $c qq(hello\\n); print <$c>; wait;",
    ))


@test
def bash_process_substitution_works():
    prints("2\n", "bash", "-c", "diff <(seq 3) <(seq 4) | grep -c . ; true")


@test
def bash_coprocess_works():
    code = "coproc tr a-z A-Z; echo hello >&${COPROC[1]}; exec {COPROC[1]}>&-; cat <&${COPROC[0]}"
    prints("HELLO\n", "bash", "-c", code)


@test
def bash_here_documents_and_jobs_work():
    prints("a\nb\n3\n", "bash", "-c", "cat <<E\na\nE\ncat <<< b\n(exit 3) & wait $! || echo $?")


@test
def shell_tools_work():
    code = script(
        "set -e", "seq 100 | sort -n -r | head -1", "echo abc | sed s/b/x/ | rev",
        "tar cf - /etc/passwd 2>/dev/null | tar tf -", "gzip -c /etc/hosts | gunzip -c | grep -c localhost",
        "find /workspace -maxdepth 0", "date -d @0 +%Y", "ps -e -o comm= | grep -c ps",
        "timeout 1 true", "nproc > /dev/null", "free > /dev/null", "df /tmp > /dev/null", "expr 6 '*' 7",
    )
    prints("100\ncxa\netc/passwd\n2\n/workspace\n1970\n1\n42\n", "sh", "-c", code)


@test
def a_debugger_of_its_own_child_gets_a_clear_error():
    """strace and gdb may not work, but asking must not hang or kill anything."""
    r = run("python3", "-c", "import ctypes; print(ctypes.CDLL(None).ptrace(0, 0, 0, 0) in (0, -1))")
    expect(r, out="True\n")


@test
def luajit_works():
    need("luajit")
    code = "local s = 0 for i = 1, 99999 do s = s + i * i end print(string.format('%d', s))"
    prints("333328333350000\n", "--", "luajit", "-e", code)


@test
def java_runs_a_source_file():
    need("java")
    write("Main.java", script(
        "public class Main { public static void main(String[] a) { System.out.println(6 * 7 + a[0]); } }",
    ))
    options = ("--memory", "1G") if is_root() else ()
    prints("42x\n", *options, "--processes", "200", "java", "Main.java", "x")


@test
def java_compiles_threads_and_hashes():
    need("javac")
    write("Main.java", script(
        "import java.security.*; import java.util.concurrent.*;",
        "public class Main { public static void main(String[] a) throws Exception {",
        "  var e = Executors.newFixedThreadPool(4); System.out.println(e.submit(() -> 6 * 7).get()); e.shutdown();",
        "  System.out.println(MessageDigest.getInstance(\"SHA-256\").digest(new byte[0]).length); } }",
    ))
    os.mkdir("w")
    os.rename("Main.java", "w/Main.java")
    options = ("--memory", "1G") if is_root() else ()
    prints("42\n32\n", *options, "--processes", "200", "--workspace", "w", "sh", "-c",
           "javac -d /tmp Main.java && java -cp /tmp Main")


@test()
def addresses_are_random():
    seen = set()
    for _ in range(3):
        r = run("--", "/bin/sh", "-c", "cat /proc/self/personality; grep -E 'stack|vdso' /proc/self/maps")
        lines = r.out.splitlines()
        same((r.rc, lines[0], len(lines)), (0, "00000000", 3), "personality, and where it is", r)
        seen.update(lines[1:])
    same(len(seen), 6, "different places", seen)
