"""Contexts of Node: code that changes the streams, the inspector and the prototypes that the driver uses."""

import threading
import time

from support import ensure, same, test
from test_contexts import PATIENT, Beside, context, ok, run, state, text

FIXTURES = {"c": lambda d, s: context(d, s, "node")}


def interrupted(d, c, code, after=0.2):
    """The result of a run that is interrupted when it has run for a while."""
    beside = Beside(d, c, code)
    time.sleep(after)
    d.post(c + "/interrupt", b"")
    return beside.end()


@test(settings=PATIENT)
def node_prints_on_after_a_write_was_cut_off(d, c):
    ok(run(d, c, "let kept = 3"))
    for loop in ('for (;;) process.stdout.write("x")', 'for (;;) console.log("x")', 'for (;;) console.error("x")'):
        for _ in range(2):
            same(run(d, c, loop, timeout_ms=300)["status"], "timeout", loop)
            same(interrupted(d, c, loop)["status"], "cancelled", loop)
            r = ok(run(d, c, "console.log('out'); console.error('err'); kept"))
            same((r["stdout"], r["stderr"], text(r)), ("out\n", "err\n", "3"), "the run after it")
    big = "if (!process.stdout.write('y'.repeat(1e5))) await new Promise(r => process.stdout.once('drain', r)); 1"
    same(text(ok(run(d, c, big))), "1", "what waits for the stream to drain")


@test(settings=PATIENT)
def node_output_that_is_held_back_is_there_at_the_end(d, c):
    r = ok(run(d, c, 'process.stdout.cork(); process.stdout.write("a"); 1', timeout_ms=30000))
    same((r["stdout"], text(r)), ("a", "1"), "a corked stream")
    code = 'try { require("vm").runInThisContext("for (;;) console.log(1)", {timeout: 50}) } catch {}'
    ok(run(d, c, code, timeout_ms=30000))
    same(ok(run(d, c, "console.log(2)"))["stdout"], "2\n", "after a write that the code itself cut off")


@test(settings=PATIENT)
def node_interrupts_itself(d, c):
    for after in ("5", "undefined", "null.x", "for (;;);"):
        r = run(d, c, f'process.kill(process.pid, "SIGINT"); {after}', timeout_ms=30000)
        same((r["status"], r["exit_code"], text(r)), ("exited", 130, None), after)
        same(text(ok(run(d, c, "6"))), "6", "the run after it")
    ok(run(d, c, 'process.kill(process.pid, "SIGWINCH")'))
    same(text(ok(run(d, c, "7"))), "7", "after a signal that does nothing")
    r = run(d, c, 'process.kill(0, "SIGWINCH"); 1')  # for this Node closes the inspector
    ensure("must be restarted" in r["stderr"], f"stderr is {r['stderr']!r}")
    same(state(d, c), "dead", "the context")
    d.post(c + "/restart", b"")
    same(run(d, c, 'process.kill(process.pid, "SIGTERM"); for (;;);')["signal"], 15, "one that kills")


@test(settings=PATIENT)
def node_survives_an_interrupt_at_its_end(d, c):
    """An interrupt that V8 handles only after the code has thrown would abort the process inside the inspector."""
    ok(run(d, c, "const all = new Float64Array(6e6).map(Math.random)"))
    for _ in range(3):
        ok(run(d, c, "const some = all.slice()"))
        same(interrupted(d, c, "some.sort(); throw new Error('x')", 0.1)["status"], "cancelled", "a run that is sorting")
        same((state(d, c), d.get(c)["reason"]), ("idle", None), "the context")


@test(settings=PATIENT)
def no_interrupt_reaches_the_next_run_of_node(d, s, c):
    """Also where the thread that Node has for SIGINT is late, as there is too much to do: there hardly one does."""
    strays = 0
    ok(run(d, context(d, s, "bash"), "for i in 1 2 3 4; do (while :; do :; done) >/dev/null 2>&1 & done"))
    for _ in range(100):
        beside = threading.Thread(target=run, args=(d, c, "1"))
        beside.start()
        d.post(c + "/interrupt", b"")
        beside.join(60)
        r = run(d, c, "for (let t = Date.now() + 3; Date.now() < t;);")
        strays += r["exit_code"] == 130 or ok(r) is None
    ensure(strays <= 10, f"{strays} of 100 did")


@test(settings=PATIENT)
def node_shows_text_that_looks_like_a_frame_of_the_driver(d, c):
    same(text(ok(run(d, c, '"a [eval]: b"'))), "'a [eval]: b'", "a string")
    same(text(ok(run(d, c, '({ a: "[eval]:1:1" })'))), "{ a: '[eval]:1:1' }", "one in an object")
    r = run(d, c, 'throw new Error("see [eval]:1 ok")')
    same(r["error"]["traceback"], "Error: see [eval]:1 ok\n    at <run-3>:1:7", "traceback")
    r = run(d, c, 'throw new Error("a\\n    at b ([eval]:1:1)")')
    same(r["error"]["traceback"], "Error: a\n    at b ([eval]:1:1)\n    at <run-4>:1:7", "a message with a frame in it")


@test(settings=PATIENT)
def node_methods_may_be_named_import(d, c):
    for code, value in (
        ("class A { import(x) { return x } }; new A().import(1)", "1"),
        ("({ import(x = ')') /* { */ { return x } }).import(2)", "2"),
        ("class B { static async import(x)\n{ return x } }; await B.import(3)", "3"),
        ("class C { #import(x) { return x } f() { return this.#import(4) } }; new C().f()", "4"),
        ("const o = { f() { return import('fs') }, import() { return 5 } }; typeof (await o.f()).readSync + o.import()", "'function5'"),
        ("{ const { readSync } = await import('fs'); typeof readSync }", "'function'"),
    ):
        same(text(ok(run(d, c, code))), value, code)


@test(settings=PATIENT)
def node_prototypes_that_the_code_changed_do_not_reach_the_driver(d, s):
    for change in (
        "Object.prototype.toJSON = () => { throw 1 }",
        "Object.prototype.exceptionDetails = {}",
        "Object.prototype.objectId = 'a'; Object.prototype.unserializableValue = '1n'",
        "Object.prototype.id = 7; Object.prototype.result = 1; Object.prototype.type = 'object'; Object.prototype.exit_code = 4",
        "Object.defineProperty(Object.prototype, 'value', { get() { return 66 }, set(v) {}, configurable: true })",
    ):
        c = context(d, s, "node")
        run(d, c, change + "; 0", timeout_ms=30000)
        same(text(ok(run(d, c, "40 + 2", timeout_ms=30000))), "42", change)
        same(text(ok(run(d, c, "({ a: await 1 }).a", timeout_ms=30000))), "1", change)
        same(run(d, c, "null.x", timeout_ms=30000)["error"]["name"], "TypeError", change)
        d.delete(c)


@test(settings=PATIENT)
def node_errors_that_cannot_be_shown_have_a_name(d, c):
    ok(run(d, c, "Error.prepareStackTrace = () => { throw 1 }; 0"))
    e = run(d, c, "null.x")["error"]
    same((e["name"], e["message"]), ("TypeError", "Cannot read properties of null (reading 'x')"), "no stack")
    ok(run(d, c, "Error.prepareStackTrace = undefined"))
    e = run(d, c, "throw Object.defineProperty(new RangeError('m'), 'stack', { get() { throw 1 } })")["error"]
    same((e["name"], e["message"], e["traceback"]), ("RangeError", "m", "RangeError: m"), "a getter that throws")
    e = run(d, c, "throw new Proxy({}, { getPrototypeOf() { throw 1 } })", timeout_ms=30000)["error"]
    same((e["name"], e["message"]), ("Uncaught", "{}"), "a proxy")


@test(settings=PATIENT)
def node_objects_may_await(d, c):
    for code, value in (
        ("{ a: await Promise.resolve(1) }", "{ a: 1 }"),
        ("{ await: 2 }", "{ await: 2 }"),
        ("{ let x = await 3; x }", "3"),
        ("{ await 4 }", "4"),
    ):
        same(text(ok(run(d, c, code))), value, code)
