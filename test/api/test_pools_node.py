"""The pool of Node: it is filled after the first execution of Node and emptied later; nothing of one execution reaches the next."""

import json
import os
import threading
import time

import images
import test_pools
from images import Image
from support import same, test, until
from test_pools import configure, full, look, pooled

FIXTURES = test_pools.FIXTURES
EMPTY = ("for an execution", 0, 0, None)


def state(p):
    return p["waits"], p["total"], p["hits"], p["problem"]


@test
def the_pool_of_node_is_filled_after_the_first_execution_of_node(d):
    p = look(d, "node")
    same((p["size"], p["idle_timeout_ms"], p["preload"], p["image"]), (2, 300000, "auto", "host"), "the default")
    full(d, "python3")
    same(d.exec("sh", "echo 1")["stdout"], "1\n", "a shell")
    full(d, "sh")
    same(state(look(d, "node")), EMPTY, "the pool before Node was used")
    same(d.exec("node", "console.log(1)")["stdout"], "1\n", "Node")
    p = full(d, "node")
    same((p["waits"], p["misses"], p["problem"]), ("started", 1, None), "the pool afterwards")
    same(pooled(d, "node", "console.log(2)")["stdout"], "2\n", "Node from the pool")


@test(settings={"sandboxes": {"cleanup_interval_ms": 100}})
def the_pool_of_node_is_emptied_when_nothing_uses_it(d):
    node = {"runtime": "node", "size": 1, "idle_timeout_ms": 3600000}
    configure(d, node)
    d.exec("node", "")
    full(d, "node")
    configure(d, {**node, "idle_timeout_ms": 1000})
    until(lambda: state(look(d, "node")) == EMPTY, 20, "an empty pool")
    same(d.exec("node", "console.log(1)")["stdout"], "1\n", "Node")
    same(look(d, "node")["misses"], 2, "misses")
    configure(d, {"runtime": "node", "size": 1})
    full(d, "node")


@test
def a_key_does_not_see_whether_another_one_uses_node(d):
    key = d.new_key("own", capabilities=["sandbox.exec"])["key"]

    def seen(**how):
        return next(p for p in d.get("/v1/pools", **how)["pools"] if p["runtime"] == "node")

    before = seen(key=key)
    d.ok("POST", "/v1/exec", {"runtime": "node", "code": "1"}, unix=True)
    until(lambda: seen(unix=True)["available"], 20, "a pool that is filled")
    same(seen(key=key), before, "the pool of Node")
    same((before["waits"], before["in_use"]), ("started", 0), "what a key sees")


@test
def an_image_without_node_is_no_error(d):
    Image("tiny", files=images.FILES, where=d.state).done(os.stat(d.state).st_uid)
    d.ok("PATCH", "/v1/settings", {"image": "tiny"})
    for n in (1, 2):
        same(d.exec("sh", "echo 1")["stdout"], "1\n", "a shell")
        same(d.request("POST", "/v1/exec", {"runtime": "node", "code": "1"}).json()["error"]["kind"], "runtime_not_found", "Node")
        until(lambda: state(look(d, "node")) == EMPTY, 20, "a pool that rests")
        same(look(d, "node")["misses"], n, "misses")


@test
def the_pool_of_node_is_not_filled_while_executions_use_all_cores(d):
    """Waits until a member is one second old. On a machine that needs longer for a look, this shows nothing."""
    for _ in range(10):
        configure(d)
        begun = time.monotonic()
        busy = [threading.Thread(target=d.exec, args=("sh", "sleep 2")) for _ in range(os.cpu_count())]
        for thread in busy:
            thread.start()
        until(lambda: d.get("/v1/health")["sandboxes"]["running"] >= len(busy), 20, "executions")
        configure(d, {"runtime": "node", "size": 1})
        p = look(d, "node")
        soon = time.monotonic() - begun < 0.9
        for thread in busy:
            thread.join()
        full(d, "node")
        if soon:
            same((p["making"], p["available"]), (0, 0), "the pool during the executions")
            return


CHANGE = r"""
const exit = process.reallyExit; require('fs').writeSync(1, 'done\n');
Object.prototype.polluted = 1; Array.prototype.push = () => 0; Promise.prototype.then = () => 0;
for (const n of ['fs', 'http', 'crypto', 'path', 'module', 'child_process']) for (const k of Object.keys(require(n))) try { require(n)[k] = () => 'changed' } catch {}
require('module')._load = () => 'changed'; require('module')._extensions['.js'] = () => 'changed'; process.emit = () => 'changed';
process.env.CHANGED = process.title = 'changed'; process.exitCode = 0; globalThis.changed = 1; process.moduleLoadList.push('changed');
Object.defineProperty(Object.getPrototypeOf(process), 'emit', { value: () => 'changed' }); Error.prepareStackTrace = () => 'changed';
exit.apply(process, [0]);
"""
LOOK = r"""
const seen = [({}).polluted, [].push(1), typeof changed, process.env.CHANGED, process.title, require('crypto').createHash('md5').update('').digest('hex'),
  require('path').join('a', 'b'), require('fs').readdirSync('.'), new Error('x').stack.split('\n').length, process.moduleLoadList.includes('changed'),
  require('module')._load === require('module')._load && require('module')._load.length, process.emit.name];
Promise.resolve(1).then((n) => console.log(JSON.stringify([seen, n])));
"""


@test
def what_code_changes_in_node_does_not_reach_the_next_execution(d):
    configure(d, {"runtime": "node", "size": 2})
    for _ in range(3):
        same(pooled(d, "node", CHANGE)["stdout"], "done\n", "code that changes what it can")
        r = pooled(d, "node", LOOK)
        same((r["exit_code"], r["stderr"]), (0, ""), "the next execution", json.dumps(r))
        same(json.loads(r["stdout"])[0][:5], [None, 1, "undefined", None, "node"], "what it sees")
    by_hand = d.post("/v1/exec", {"command": ["node", "main.js"], "files": {"main.js": LOOK}})
    same(r["stdout"], by_hand["stdout"], "what it sees, as by hand")


@test
def an_empty_preload_loads_nothing_into_node(d):
    prepared = "console.log(Object.hasOwn(Object.getPrototypeOf(process), 'emit'))"
    configure(d, {"runtime": "node", "size": 1, "preload": []})
    same((pooled(d, "node", prepared)["stdout"], look(d, "node")["preload"]), ("false\n", []), "without")
    configure(d, {"runtime": "node", "size": 1})
    same((pooled(d, "node", prepared)["stdout"], look(d, "node")["preload"]), ("true\n", "auto"), "by default")
