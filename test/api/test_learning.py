"""Learned templates: the daemon preloads the packages that executions of a key often import, only for this key."""

import json
import subprocess

import daemon
from support import ensure, same, test, until
from test_contexts import context, ok, run, text
from test_images import PYTHON, image_of
from test_pools import waiting_pids

PATIENCE = 40  # the longest time to make a template
TIMES = 5  # executions before a module is learned
SITE = subprocess.run(["/usr/bin/python3", "-c", "import site; print(site.getsitepackages()[0].lstrip('/'))"],
                      capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
PACKAGES = {
    "slow/__init__.py": "import os, time\nfrom . import part\ntime.sleep(0.3)\nwhere = 'image'\ntoken = os.urandom(8).hex()\n",
    "slow/part.py": "value = 7\n",
    "other.py": "import slow\nwhere = 'image'\n",
    "broken.py": "import slow\nraise ImportError('broken')\n",
    "talks.py": "print('I was imported')\n",
    "sets.py": "import os\nos.environ.setdefault('MADE', '1')\nchoice = os.environ.get('CHOICE', 'none')\n",
    "moves.py": "import sys\nsys.path.append('/moved')\n",
    "twice.py": "import importlib, slow\nimportlib.import_module('slow')\n",
    "PIL/__init__.py": "",
    "PIL/Image.py": "import os\nfrom . import _own\ntoken = os.urandom(8).hex()\n",
    "PIL/_own.py": "",
    "leaves.py": "raise SystemExit(0)\n",
    "finds.py": "import sys\nclass Finder:\n    find_spec = lambda *a: None\nsys.meta_path.append(Finder())\n",
    "large.py": "room = bytearray(b'x') * (64 << 20)\n",
}  # fmt: skip
POOL = {"runtime": "python3", "size": 1, "image": "tiny", "preload": ["json"]}
SLOW = "import sys\nbefore = 'slow' in sys.modules\nimport slow\nprint(before, slow.part.value, slow.where)"


def Daemon(**arguments):
    d = daemon.Daemon(settings={"images": {"pull": "never"}, "pools": [], "sandboxes": {"spare": 0}}, **arguments)

    def fill(image):
        for name, content in PACKAGES.items():
            image.put(f"{SITE}/{name}", content)

    image_of(d, files=PYTHON, config={"env": ["PATH=/bin"]}, fill=fill)
    d.ok("PATCH", "/v1/settings", {"image": "tiny", "pools": [POOL]}, unix=True)
    ready(d)
    return d


FIXTURES = {"d": Daemon}


def ready(d):
    until(lambda: pools(d, unix=True)[0]["waits"] == "template", PATIENCE, "a template")


def pools(d, **arguments):
    return d.get("/v1/pools", **arguments)["pools"]


def learned(d, **arguments):
    """The learned pools: {module: count} of each."""
    return [{m["module"]: m["executions"] for m in p["learned"]} for p in pools(d, **arguments) if "learned" in p]


def learned_pool(d, **arguments):
    return next((p for p in pools(d, **arguments) if "learned" in p), None)


def often(d, code, times=TIMES, **fields):
    for _ in range(times):
        r = d.exec("python3", code, **fields)
        same(r["exit_code"], 0, "exit code", json.dumps(r))
    return r


def teach(d, *modules, **fields):
    """Runs code that imports the modules often, and waits until exactly these are learned."""
    often(d, "import " + ", ".join(modules), **fields)
    which = {k: v for k, v in fields.items() if k == "key"}
    return until(lambda: [set(m) for m in learned(d, **which)] == [set(modules)] and learned_pool(d, **which), PATIENCE, f"{modules} in a template")


@test(timeout=180)
def often_imported_packages_are_learned(d):
    often(d, SLOW, TIMES - 1)
    same(learned(d), [], "learned after four executions")
    same(often(d, SLOW, 1)["stdout"], "False 7 image\n", "the fifth")
    until(lambda: learned(d) == [{"slow": TIMES}], PATIENCE, "a template with slow")
    p = until(lambda: (p := learned_pool(d))["available"] and p, PATIENCE, "an interpreter that waits")
    ensure(p["learned"][0]["import_ms"] >= 300 and p["saved_ms"] >= 300, "the benefit", f"{p}")
    ensure(p["memory_bytes"] > 1 << 20 and p["size"] == 1, "the memory", f"{p}")
    same((p["key"], p["image"], p["runtime"], p["executions"], p["hits"]), (None, "tiny", "python3", TIMES, 0), "the pool")
    same(often(d, SLOW, 1)["stdout"], "False 7 image\n", "from the template")
    same(learned_pool(d)["hits"], 1, "hits of the learned pool")
    hits = pools(d)[0]["hits"]
    same(d.exec("python3", "print('s' + 'low')")["stdout"], "slow\n", "without it")
    same((learned_pool(d)["hits"], pools(d)[0]["hits"] + pools(d)[0]["misses"] > hits), (1, True), "code that does not import it")
    r = d.exec("python3", "import sys\nprint('slow' in sys.modules, 'slow.part' in sys.modules, [m for m in dir() if m[0] != '_'])\n# slow")
    same(r["stdout"], "False False ['sys']\n", "what code sees that only names it")
    r = d.exec("python3", "import slow\nprint(slow.where)", files={"slow.py": "where = 'workspace'\n"})
    same(r["stdout"], "workspace\n", "a file of the same name beside the code")


@test(timeout=180)
def more_is_learned_later(d):
    teach(d, "slow")
    often(d, "import other")
    p = until(lambda: [set(m) for m in learned(d)] == [{"slow", "other"}] and learned_pool(d), PATIENCE, "both")
    same(len(pools(d)), 2, "pools", f"{pools(d)}")
    same(often(d, "import other, sys; print(other.where, list(sys.modules)[-3:])", 1)["stdout"], "image ['slow.part', 'slow', 'other']\n", "the code")
    ensure(p["learned"][0]["module"] in ("slow", "other"), "modules", f"{p}")


@test(timeout=180)
def contexts_use_the_template_of_their_key(d):
    teach(d, "slow")
    code = "import sys; a = 'slow' in sys.modules; import slow; a, slow.where, slow.token"

    def runs():
        return [text(ok(run(d, context(d, d.sandbox()), code))) for _ in range(2)]

    one, other = runs()
    ensure(one.startswith("(False, 'image', '") and one == other, "two contexts have the same object", f"{one} {other}")
    d.ok("PATCH", "/v1/settings", {"learning": {"memory_bytes": 0}})
    one, other = runs()
    ensure(one.startswith("(False, 'image', '") and one != other, "each has imported its own", f"{one} {other}")


# Which keys and requests use a learned template.


@test(timeout=180)
def a_key_neither_sees_nor_uses_what_another_has_learned(d):
    one, other = d.new_key(name="one"), d.new_key(name="other")
    watcher = d.new_key(name="watcher", capabilities=["sandbox.exec", "monitor", "audit"])
    before = [pools(d, key=k["key"]) for k in (other, watcher)]
    teach(d, "slow", key=one["key"])
    until(lambda: learned_pool(d, key=one["key"])["available"], PATIENCE, "an interpreter that waits")
    same([p["key"] for p in pools(d, unix=True) if "learned" in p], [one["id"]], "what the owner sees")
    for k in (other, watcher):
        same(learned(d, key=k["key"]), [], f"what {k['name']} sees")
    same([{p["runtime"] for p in x} for x in before], [{p["runtime"] for p in pools(d, key=k["key"])} for k in (other, watcher)], "their pools")
    for k in (other, watcher):
        same(often(d, SLOW, 1, key=k["key"])["stdout"], "False 7 image\n", f"the code of {k['name']}")
    often(d, SLOW, 1, unix=True)
    same(learned_pool(d, key=one["key"])["hits"], 0, "hits by others")
    metrics = d.request("GET", "/metrics", key=watcher["key"]).text
    ensure('cella_pool_hits_total{pool="0"}' in metrics and 'pool="1"' not in metrics, "metrics", metrics)
    ensure("slow" not in metrics and "slow" not in json.dumps(d.get("/v1/health", key=watcher["key"])), "names that others see")
    often(d, SLOW, 1, key=one["key"])
    same(learned_pool(d, key=one["key"])["hits"], 1, "hits by itself")
    same(learned(d, key=other["key"]), [], "one execution teaches another key nothing")


# The modules that are learned.


@test(timeout=180)
def only_packages_of_the_image_are_preloaded(d):
    s = d.sandbox()
    for name in ("slow", "mine"):
        d.put(s, f"{name}.py", "where = 'sandbox'\n")
    code = "import slow, mine\nprint(slow.where, mine.where)"
    for _ in range(TIMES):
        r = d.post(f"/v1/sandboxes/{s}/exec", {"runtime": "python3", "code": code})
        same(r["stdout"], "sandbox sandbox\n", "in the sandbox", json.dumps(r))
    until(lambda: learned(d) == [{"slow": TIMES}], PATIENCE, "a template with slow only")
    same(text(ok(run(d, context(d, s), "import slow; slow.where"))), "'sandbox'", "a context in the sandbox")
    same(often(d, SLOW, 1)["stdout"], "False 7 image\n", "without the packages of the sandbox")


@test(timeout=180)
def modules_whose_import_shows_are_not_preloaded(d):
    often(d, "try:\n    import broken\nexcept ImportError:\n    pass\nimport slow")
    until(lambda: learned(d) == [{"slow": TIMES}], PATIENCE, "slow without broken")
    r = d.exec("python3", "import slow\ntry:\n    import broken\nexcept ImportError as e:\n    print(e)")
    same(r["stdout"], "broken\n", "the code", json.dumps(r))
    often(d, "import talks, moves\nimport leaves")
    often(d, "import other")
    until(lambda: [set(m) for m in learned(d)] == [{"slow", "other"}], PATIENCE, "other without talks")
    for _ in range(2):
        same(d.exec("python3", "import talks, slow")["stdout"], "I was imported\n", "what it prints")
    r = d.exec("python3", "import sys\nprint('/moved' in sys.path)\nimport moves, slow\nprint('/moved' in sys.path)\nimport leaves")
    same(r["stdout"], "False\nTrue\n", "sys.path", json.dumps(r))


@test(timeout=180)
def a_module_with_a_finder_does_not_prevent_others(d):
    teach(d, "slow", "finds")
    runs = [d.exec("python3", "import sys\nn = len(sys.meta_path)\nimport finds, slow\nprint(len(sys.meta_path) - n, slow.token)")["stdout"] for _ in range(2)]
    ensure(runs[0].startswith("1 ") and runs[0] == runs[1], "two executions have the same object", f"{runs}")


@test(timeout=180)
def a_part_of_a_package_that_most_code_imports_is_learned_with_it(d):
    teach(d, "PIL")
    r = d.exec("python3", "import PIL, sys\nprint([m for m in sys.modules if m[:3] == 'PIL'], hasattr(PIL, 'Image'))")
    same(r["stdout"], "['PIL'] False\n", "the package alone", json.dumps(r))
    code = "import sys\nfrom PIL import Image\nprint([m for m in sys.modules if m[:3] == 'PIL'], Image.token)"
    runs = [d.exec("python3", code)["stdout"] for _ in range(2)]
    ensure(runs[0].startswith("['PIL', 'PIL._own', 'PIL.Image'] ") and runs[0] == runs[1], "two executions have the same object", f"{runs}")


@test(timeout=180)
def a_module_that_is_imported_again_by_name_is_complete(d):
    teach(d, "twice")
    r = d.exec("python3", "import sys, twice, slow\nprint('slow.part' in sys.modules, slow.part.value, slow.where)")
    same(r["stdout"], "True 7 image\n", "the code", json.dumps(r))


@test(timeout=180)
def an_import_sees_the_environment_of_its_code(d):
    teach(d, "sets")
    see = "import os, sets\nprint(sets.choice, os.environ['MADE'])"
    same(d.exec("python3", "import os\nprint('MADE' in os.environ)\n" + see)["stdout"], "False\nnone 1\n", "the template")
    same(d.exec("python3", see, env={"CHOICE": "a"})["stdout"], "a 1\n", "a variable of the request")
    same(d.exec("python3", "import os\nos.environ['CHOICE'] = 'b'\nos.environ['MADE'] = '2'\n" + see)["stdout"], "b 2\n", "variables of the code")
    ensure(learned_pool(d)["hits"] + learned_pool(d)["misses"] >= 3, "none used the template", f"{pools(d)}")


@test(timeout=180)
def hostile_module_names_are_not_learned(d):
    names = "../../etc/passwd", "a" * 5000, "/", "a/b", "-x", "x\\0y", "slow;x", "%s%n", "é"
    often(d, "".join(f"try:\n    __import__('{n}')\nexcept Exception:\n    pass\n" for n in names) +
          "".join(f"try:\n    import nothing_{i}\nexcept ImportError:\n    pass\n" for i in range(200)) + "import json\n")  # fmt: skip
    often(d, "import slow")
    until(lambda: learned(d) == [{"slow": TIMES}], PATIENCE, "slow alone")


# The setting.


@test(timeout=180)
def the_memory_is_limited(d):
    p = teach(d, "slow")
    same(d.get("/v1/settings")["learning"], {"memory_bytes": 256 << 20}, "the default")
    often(d, "import large")
    until(lambda: [set(m) for m in learned(d)] == [{"slow", "large"}], PATIENCE, "both modules")
    d.ok("PATCH", "/v1/settings", {"learning": {"memory_bytes": p["memory_bytes"] + (32 << 20)}})
    until(lambda: [set(m) for m in learned(d)] != [{"slow", "large"}], PATIENCE, "an end of the large template")
    often(d, "import slow")
    until(lambda: [set(m) for m in learned(d)] == [{"slow"}], PATIENCE, "the more useful module")
    d.ok("PATCH", "/v1/settings", {"learning": {"memory_bytes": 1 << 20}})
    until(lambda: learned(d) == [], PATIENCE, "an end of all")
    same(often(d, SLOW)["stdout"], "False 7 image\n", "the code without it")


@test(timeout=180)
def a_setting_disables_it(d):
    teach(d, "slow")
    waiting = len(waiting_pids(d))
    d.ok("PATCH", "/v1/settings", {"learning": {"memory_bytes": 0}})
    same(learned(d), [], "learned pools")
    until(lambda: len(waiting_pids(d)) < waiting or waiting < 2, PATIENCE, "an end of their interpreters")
    same(often(d, SLOW, 2 * TIMES)["stdout"], "False 7 image\n", "the code without it")
    same(learned(d), [], "learned pools")
    d.ok("PATCH", "/v1/settings", {"learning": {"memory_bytes": 256 << 20}})
    teach(d, "slow")
    d.refused("invalid_request", "PATCH", "/v1/settings", {"learning": {"memory_bytes": -1}}, "learning.memory_bytes")


@test(timeout=180)
def settings_change_while_a_template_is_made(d):
    for n in range(4):
        often(d, "import slow")
        d.ok("PATCH", "/v1/settings", {"limits": {"processes": 65 + n}, "pools": [{**POOL, "size": n % 2}]})
        ready(d)
    d.ok("PATCH", "/v1/settings", {"pools": []})
    same((often(d, "import slow")["exit_code"], pools(d)), (0, []), "without pools")
    d.ok("PATCH", "/v1/settings", {"pools": [POOL]})
    ready(d)
    often(d, "import slow")
    p = until(lambda: learned_pool(d), PATIENCE, "a template")
    d.ok("PATCH", "/v1/settings", {"audit": {"keep_days": 3}})
    same(learned_pool(d)["learned"][0]["module"], p["learned"][0]["module"], "the template after a change of something else")
    d.ok("PATCH", "/v1/settings", {"pools": [{**POOL, "preload": []}]})
    same(learned(d), [], "an empty list of modules turns it off")


@test(timeout=180)
def a_restarted_daemon_learns_anew(d):
    teach(d, "slow")
    d.restart()
    ready(d)
    same(learned(d), [], "after the start")
    teach(d, "slow")
