import re
from collections import Counter

LOG = """\
10.0.0.1 - - [12/Mar/2024:10:01:22 +0000] "GET /index.html HTTP/1.1" 200 5120
10.0.0.2 - bob [12/Mar/2024:10:01:23 +0000] "POST /login HTTP/1.1" 302 0
10.0.0.1 - - [12/Mar/2024:10:01:25 +0000] "GET /style.css HTTP/1.1" 304 -
10.0.0.3 - - [12/Mar/2024:10:02:01 +0000] "GET /admin HTTP/1.1" 403 199
broken line
10.0.0.2 - bob [12/Mar/2024:10:02:09 +0000] "GET /data?id=5&x=1 HTTP/2.0" 500 88
10.0.0.4 - - [12/Mar/2024:10:03:00 +0000] "DELETE /item/9 HTTP/1.1" 404 150
"""

PATTERN = re.compile(
    r"""(?P<ip>\S+)\s\S+\s(?P<user>\S+)\s
        \[(?P<time>[^\]]+)\]\s
        "(?P<method>[A-Z]+)\s(?P<path>[^\s"]+)\s(?P<protocol>[^"]+)"\s
        (?P<status>\d{3})\s(?P<size>\d+|-)""",
    re.VERBOSE,
)

statuses, sizes, unparsed = Counter(), 0, []
for line in LOG.splitlines():
    match = PATTERN.fullmatch(line)
    if not match:
        unparsed.append(line)
        continue
    statuses[match["status"][0] + "xx"] += 1
    sizes += 0 if match["size"] == "-" else int(match["size"])
    print(f"{match['ip']:10} {match['method']:6} {match['path']:16} {match['status']}")

print("by class:", dict(sorted(statuses.items())))
print("bytes:", sizes)
print("unparsed:", unparsed)
