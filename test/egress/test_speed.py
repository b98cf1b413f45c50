"""A short form of bench/egress.py, with bounds that a busy machine meets; measured figures are in the table of doc/performance.md."""

import json
import os
import subprocess
import sys

import support
from support import ensure, test

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/egress.py")


@test(users=["root"], timeout=60, alone=True)
def the_cost_of_the_network_stays_within_its_bounds():
    cella = support.command[-1]
    tool = os.path.join(os.path.dirname(cella), "bench-egress")
    words = [sys.executable, BENCH, "--cella", cella, "--tool", tool, "--rounds", "6", "--bytes", str(256 << 20), "--sandboxes", "20", "--seconds", "2", "--json"]
    r = subprocess.run(words, capture_output=True, text=True, timeout=50 * support.slack)
    ensure(r.returncode == 0, f"bench/egress.py: {r.stderr[-2000:]}")
    f = json.loads(r.stdout)
    bounds = {
        "connect and GET": f["egress_us"] < 10 * f["direct_us"] + 1000,
        "a download": f["egress_gib_s"] > 0.1 * f["direct_gib_s"],
        "on demand": f["on demand, standard, ms"] < 2 * f["on demand, restricted, ms"] + 5,
        "pooled": f["pooled, standard, ms"] < 2 * f["pooled, restricted, ms"] + 5,
        "the shares": f["least"] * 20 > f["most"],
    }
    ensure(f["sandboxes"] == 20, f"sandboxes: {f}")
    slow = [name for name, good in bounds.items() if not good]
    if slow:
        support.late(f"{', '.join(slow)}: {f}")
