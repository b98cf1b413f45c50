"""The alert rules and the dashboard of doc/monitoring: every metric and label that they name is in /metrics."""

import json
import pathlib
import re
import subprocess

import support
from support import ensure, same, test

FILES = pathlib.Path(__file__).resolve().parent.parent.parent / "doc/monitoring"
# Words that are no metrics of the daemon: functions and keywords of PromQL, and labels that Prometheus adds.
ADDED = {"instance", "job", "le"}


def expressions():
    """(where, expression) of all rules and panels."""
    found = [(m[1], m[2]) for m in re.finditer(r"- alert: (\w+)\n\s+expr: (.+)", (FILES / "alerts.yml").read_text())]
    board = json.loads((FILES / "dashboard.json").read_text())
    found += [(p["title"], t["expr"]) for p in board["panels"] for t in p["targets"]]
    return found + [("variable", v["query"]["query"]) for v in board["templating"]["list"] if v["type"] == "query"]


@test
def rules_and_dashboard_name_metrics_that_exist(d):
    d.exec("sh", "true")
    text = d.request("GET", "/metrics").text
    series = {}  # name: {label: values}
    for m in re.finditer(r"^(cella_\w+)(?:\{(.*)\})? ", text, re.M):
        labels = series.setdefault(m[1], {})
        for name, value in re.findall(r'(\w+)="([^"]*)"', m[2] or ""):
            labels.setdefault(name, set()).add(value)
    all_ = expressions()
    ensure(len([e for e in all_ if "cella_" in e[1]]) >= 20, f"only {len(all_)} expressions were found")
    for where, expression in all_:
        names = re.findall(r"cella_\w+", expression)
        for name in names:
            ensure(name in series, f"{where}: there is no {name} in /metrics")
        known = {label for name in names for label in series[name]} | ADDED
        for by in re.findall(r"by \(([^)]*)\)", expression):
            ensure(set(re.split(r",\s*", by)) <= known, f"{where}: by ({by}), but the labels are {known}")
        for label, value in re.findall(r'(\w+)="([^"]*)"', expression):
            ensure(label in known, f"{where}: no label {label}")
            ensure(label in ADDED or any(value in series[n].get(label, ()) for n in names), f"{where}: no {label}={value}")


@test
def every_metric_of_a_failure_has_an_alert(d):
    rules = (FILES / "alerts.yml").read_text()
    for m in re.finditer(r"^# TYPE (cella_\w*(?:failed|lost|refused)\w*) ", d.request("GET", "/metrics").text, re.M):
        ensure(m[1] in rules, f"no rule uses {m[1]}")


@test(users=["root"])
def the_rules_are_valid_for_prometheus():
    """The stage `servers` runs this."""
    promtool = FILES.parent.parent / "build-servers/usr/bin/promtool"
    if not promtool.exists():
        raise support.Skip("no programs of ./dev setup servers")
    r = subprocess.run([promtool, "check", "rules", FILES / "alerts.yml"], capture_output=True, text=True)
    same(r.returncode, 0, f"promtool says {r.stdout}{r.stderr}: its exit status")
    ensure("11 rules found" in r.stdout, f"promtool says {r.stdout}")
