"""Common programs, unmodified: each reaches allowed hosts, and for others it fails at once with an error."""

import json
import os
import re
import subprocess

import support
from product import WAYS, Internet, Product, ensure
from support import same, test

NETWORK = {"tier": "standard", "allowed_domains": ["ok.example"]}
FAST = 20  # seconds, with the start of a sandbox and an interpreter; a client that gets no answer waits for minutes

# In the sandbox: where each program looks for trusted certificates.
TRUST = {"CURL_CA_BUNDLE": "ca.pem", "SSL_CERT_FILE": "ca.pem", "REQUESTS_CA_BUNDLE": "ca.pem", "NODE_EXTRA_CA_CERTS": "ca.pem",
         "GIT_SSL_CAINFO": "ca.pem", "PIP_CERT": "ca.pem", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}  # fmt: skip

FETCH = "Promise.all(process.argv.slice(1).map(async u => { const r = await fetch(u); console.log(r.status, await r.text()) }))" \
        ".catch(e => { console.error(e.cause || e); process.exit(1) })"  # fmt: skip
NO_PROXY = {"http_proxy": "", "https_proxy": ""}

NO_NAME = "resolve|Name or service not known|ENOTFOUND|getaddrinfo"
FORBIDDEN = "403|refused: not in allowed_domains"


def client(program, arguments, *, refused, env=None, schemes=("http", "https")):
    return program, arguments, refused, env or {}, schemes


# {name of a client: its row}.  arguments: shell words with the URL; refused: a pattern of the output after a refusal.
CLIENTS = {
    "curl": [
        client("curl", "curl -sS --fail-with-body {url}", refused=FORBIDDEN),
        client("curl, past the proxy", "curl -sS --fail-with-body --noproxy '*' {url}", refused=NO_NAME),
        client("curl, by IPv6", "curl -6 -sS --fail-with-body --noproxy '*' {url}", refused=NO_NAME),
        client("curl, a proxy by option", "curl -sS --fail-with-body -x http://198.18.0.1:3128 --proxytunnel {url}", refused=FORBIDDEN),
        client("curl, to the address", "curl -sS --fail-with-body --noproxy '*' --resolve '*:80:93.184.216.66' --resolve '*:443:93.184.216.66' {url}",
               refused=FORBIDDEN + "|alert"),
    ],
    "node": [client("fetch", f"node -e '{FETCH}' http://{{host}}/x {{url}}", refused=NO_NAME, schemes=("https",))],
}  # fmt: skip


def missing(program):
    return subprocess.run(["/bin/sh", "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0


def needs(program, name):
    if missing(program):
        raise support.Skip(f"no {name}")


def each_way(work):
    """Calls work(product, net) for each of the three ways to run code."""
    with Internet() as net:
        for way in WAYS:
            with Product(way, NETWORK, {"ca.pem": net.ca_text}) as product:
                work(product, net)


def run(product, code, env):
    r = product.shell(code, {**TRUST, **env})
    r["said"] = r["stdout"] + r["stderr"]
    return r


def works(product, net, program, code, env, expected):
    net.forget()
    r = run(product, code, env)
    ensure(r["exit_code"] == 0 and expected in r["stdout"], f"{program}, {product.way}: allowed, but {r}")
    same(r["violations"], [], f"{program}, {product.way}: violations")
    ensure(r["usage"]["network"]["connections"] > 0 and r["usage"]["network"]["refused"] == 0, f"{program}, {product.way}: {r['usage']}")


def fails(product, net, program, code, env, pattern, fast=FAST):
    """It fails at once with an error, the result has the reason, and no server received anything."""
    net.forget()
    r = run(product, code, env)
    ensure(r["exit_code"] != 0, f"{program}, {product.way}: not refused: {r}")
    ensure(re.search(pattern, r["said"]), f"{program}, {product.way}: does not say why: {r['said']}")
    support.within(r["duration_ms"] / 1000, fast, f"{program}, {product.way}: to be refused")
    ensure(r["violations"] and all(v["target"].split(":")[0] == "evil.example" and v["detail"] == "not in allowed_domains" and v["kind"] == "network"
                                   for v in r["violations"]), f"{program}, {product.way}: violations {r['violations']}")  # fmt: skip
    # The last packets of an earlier, allowed connection may be late.
    strange = {p: n for p, n in net.packets().items() if p.split()[1] not in ("93.184.216.10", "2606:2800:220:1::10")}
    same((strange, net.seen()), ({}, []), f"{program}, {product.way}: what left")
    return r


def try_clients(name):
    def work(product, net):
        for program, arguments, refused, env, schemes in CLIENTS[name]:
            for scheme in schemes:
                code = arguments.replace("{url}", scheme + "://{host}/x")
                works(product, net, f"{program}, {scheme}", code.replace("{host}", "ok.example"), env, '"host": "ok.example"')
                same({e["host"] for e in net.seen("http")}, {"ok.example"}, f"{program}: who was asked")
                fails(product, net, f"{program}, {scheme}", code.replace("{host}", "evil.example"), env, refused)

    return lambda: each_way(work)


def register(name, *requirements):
    def check():
        for program, what in requirements:
            needs(program, what)
        try_clients(name)()

    test(check, name=f"client_{name}", users=["root"], timeout=60)


register("curl", ("curl --version", "curl"))
register("node", ("case $(command -v node) in /usr/* | /bin/*) ;; *) exit 1 ;; esac", "node in /usr"))


# ---- python ----

# Each library, with the proxies of the environment and without: [[what, seconds, what came of it]].
LIBRARIES = """
import json, sys, time, urllib.request, requests
def by_urllib(url, proxied):
    opener = urllib.request.build_opener(*([] if proxied else [urllib.request.ProxyHandler({})]))
    return opener.open(url).read().decode()
def by_requests(url, proxied):
    session = requests.Session()
    session.trust_env, session.verify = proxied, "ca.pem"
    answer = session.get(url)
    answer.raise_for_status()
    return answer.text
outcomes = []
for get in (by_urllib, by_requests):
    for proxied in (True, False):
        for url in sys.argv[1:]:
            begun = time.monotonic()
            try: came = json.loads(get(url, proxied))["host"]
            except Exception as e: came = repr(e)
            outcomes.append([f"{get.__name__}, proxied: {proxied}, {url}", time.monotonic() - begun, came])
print(json.dumps(outcomes))
sys.exit(any("example" != t[2][-7:] for t in outcomes))
"""


@test(users=["root"], timeout=60)
def client_python():
    needs("/usr/bin/python3 -c 'import requests'", "requests for /usr/bin/python3")

    def work(product, net):
        code = "python3 -c \"$CODE\" http://{0}/x https://{0}/x"
        works(product, net, "python", code.format("ok.example"), {"CODE": LIBRARIES}, "ok.example")
        same({e["host"] for e in net.seen("http")}, {"ok.example"}, "who was asked")
        r = fails(product, net, "python", code.format("evil.example"), {"CODE": LIBRARIES}, "403", fast=10)
        for what, seconds, came in json.loads(r["stdout"]):
            expected = NO_NAME if "proxied: False" in what else "403 Forbidden: evil.example:443 not in allowed_domains" if "https" in what else "403"
            ensure(re.search(expected, came), f"{what}: does not say why: {came}")
            support.within(seconds, FAST, f"{product.way}: {what}")

    each_way(work)


# ---- git ----


def make_repository(directory):
    """Makes a bare repository that can be read with plain GET requests."""
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example", "-c", "init.defaultBranch=main"]
    source = os.path.join(support.home, "source")
    for words in (["init", "-q", source], ["-C", source, "commit", "-q", "--allow-empty", "-m", "the first"],
                  ["clone", "-q", "--bare", source, os.path.join(directory, "r.git")], ["-C", os.path.join(directory, "r.git"), "update-server-info"]):  # fmt: skip
        subprocess.run([*git, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@test(users=["root"], timeout=60)
def client_git():
    needs("git --version", "git")

    def work(product, net):
        files = os.path.join(net.directory, "files")
        if not os.path.exists(files):
            os.mkdir(files)
            make_repository(files)
        for program, env, refused in (("git", {}, "403"), ("git, past the proxy", NO_PROXY, NO_NAME)):
            clone = "git clone -q https://{}/files/r.git r && git -C r log --format=%s"
            works(product, net, program, clone.format("ok.example"), env, "the first")
            fails(product, net, program, clone.format("evil.example"), env, refused)

    each_way(work)


# ---- pip ----


def make_index(files):
    """A package index with one small wheel."""
    import zipfile

    directory = os.path.join(files, "simple", "greeting")
    os.makedirs(directory)
    wheel = "greeting-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, wheel), "w") as z:
        z.writestr("greeting.py", "print('good day')\n")
        z.writestr("greeting-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n")
        z.writestr("greeting-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("greeting-1.0.dist-info/RECORD", "greeting.py,,\ngreeting-1.0.dist-info/METADATA,,\ngreeting-1.0.dist-info/WHEEL,,\ngreeting-1.0.dist-info/RECORD,,\n")
    support.write(os.path.join(directory, "index.html"), f"<!DOCTYPE html><html><body><a href='{wheel}'>{wheel}</a></body></html>")


@test(users=["root"], timeout=90)
def client_pip():
    needs("/usr/bin/python3 -m pip --version", "pip for /usr/bin/python3")

    def work(product, net):
        files = os.path.join(net.directory, "files")
        if not os.path.exists(files):
            make_index(files)
        # By default, pip retries five times with increasing delays; but each attempt is refused at once.
        install = "python3 -m pip install -q --no-cache-dir --retries 0 --target lib --index-url https://{}/files/simple greeting && PYTHONPATH=lib python3 -m greeting"
        # As an ordinary user without the proxy; otherwise through the proxy.
        env = NO_PROXY if product.way == "run as an ordinary user" else {}
        works(product, net, "pip", install.format("ok.example"), env, "good day")
        fails(product, net, "pip", install.format("evil.example"), env, "403|No matching distribution", fast=40)  # most of the time is its start

    each_way(work)
