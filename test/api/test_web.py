"""API of the web page: its files, the current user, settings that are not overwritten, times."""

import gzip

from support import ensure, same, test

CAPABILITIES = ["sandbox.exec", "sandbox.manage", "files", "images", "secrets", "settings", "audit", "host.exec", "monitor"]


@test
def the_page_and_its_files_are_served_to_everyone_and_nothing_else_is(d):
    d.new_key()  # from now on everything else needs one
    page = d.request("GET", "/")
    same((page.status, page.headers["Content-Type"]), (200, "text/html; charset=utf-8"), "the page")
    ensure(page.text.startswith("<!doctype html>"), page)
    for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"):
        ensure(part in page.headers["Content-Security-Policy"], part)
    ensure("unsafe" not in page.headers["Content-Security-Policy"], page)
    same((page.headers["X-Frame-Options"], page.headers["X-Content-Type-Options"]), ("DENY", "nosniff"), "headers")
    for name in page.text.split('"'):
        if name.startswith("/ui/"):
            plain, packed = d.request("GET", name), d.request("GET", name, headers={"Accept-Encoding": "br, gzip;q=0.5"})
            same((plain.status, packed.status), (200, 200), name)
            same((plain.headers.get("Content-Encoding"), packed.headers["Content-Encoding"]), (None, "gzip"), name)
            same(gzip.decompress(packed.body), plain.body, name)
            known = d.request("GET", name, headers={"If-None-Match": plain.headers["ETag"]})
            same((known.status, known.body), (304, b""), name)
    same(d.request("GET", "/ui/app.js", headers={"Accept-Encoding": "gzip;q=0"}).headers.get("Content-Encoding"), None, "q=0")
    d.refused("not_found", "GET", "/ui/nothing.js")
    d.refused("not_found", "GET", "/ui/..%2F..%2Fetc%2Fpasswd")
    d.refused("unauthorized", "GET", "/v1/me")


@test
def me_lists_the_rights_of_the_caller(d):
    me = d.get("/v1/me")
    same((me["owner"], me["key"], me["capabilities"], me["tier"]), (True, None, CAPABILITIES, "elevated"), "without keys")
    key = d.new_key(name="ci", capabilities=["files", "sandbox.exec"], tier="standard", limits={"processes": 5}, sandboxes_max=3)
    me = d.get("/v1/me", key=key["key"])
    same((me["owner"], me["name"], me["capabilities"], me["tier"]), (False, "ci", ["sandbox.exec", "files"], "standard"), "with a key")
    same((me["limits"], me["sandboxes_max"]), ({"processes": 5}, 3), "its limits")
    ensure(me["key"] == key["id"] and key["key"] not in str(me), me)


@test
def a_change_of_settings_made_with_others_in_view_changes_nothing(d):
    first = d.request("GET", "/v1/settings")
    etag = first.headers["ETag"]
    same(d.request("GET", "/v1/settings").headers["ETag"], etag, "of the same settings")
    mine = d.request("PATCH", "/v1/settings", {"limits": {"processes": 11}}, headers={"If-Match": etag})
    same(mine.status, 200, "the first change")
    ensure(mine.headers["ETag"] != etag, mine)
    for method in ("PATCH", "PUT"):
        late = d.request(method, "/v1/settings", {"limits": {"processes": 12}}, headers={"If-Match": etag})
        same((late.status, late.json()["error"]["kind"]), (412, "conflict"), method)
        same(late.headers["ETag"], mine.headers["ETag"], "the current ETag")
    same(d.get("/v1/settings")["limits"]["processes"], 11, "what holds")
    same(d.request("PATCH", "/v1/settings", {"limits": {"processes": 12}}, headers={"If-Match": "*"}).status, 200, "any")
    d.restart()
    now = d.request("GET", "/v1/settings")
    back = d.request("PATCH", "/v1/settings", {"limits": {"processes": 11}}, headers={"If-Match": now.headers["ETag"]})
    same(back.headers["ETag"], mine.headers["ETag"], "equal settings, equal tags, also after a restart")


@test
def checking_settings_returns_the_result_and_changes_nothing(d):
    before = d.get("/v1/settings")
    would = d.ok("PATCH", "/v1/settings?check=1", {"limits": {"processes": 9}, "mode": "selective"})
    same((would["limits"]["processes"], would["mode"]), (9, "selective"), "what would hold")
    d.refused("invalid_request", "PATCH", "/v1/settings?check=1", {"workspace": "rw"}, parts=["workspace_root"])
    d.refused("invalid_request", "PUT", "/v1/settings?check=1", {"network": {"allowed_domains": ["http://x/"]}}, parts=["allowed_domains"])
    same(d.get("/v1/settings"), before, "what holds")


@test
def answers_contain_the_time_that_the_daemon_took(d):
    timing = d.request("POST", "/v1/exec", {"runtime": "sh", "code": "sleep 0.2"}).headers["Server-Timing"]
    name, _, ms = timing.partition(";dur=")
    ensure(name == "daemon" and 200 <= float(ms) < 20000, timing)
