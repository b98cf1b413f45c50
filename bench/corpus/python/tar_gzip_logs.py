"""Rotate log files: compress the old ones into one archive and list it."""
import gzip
import os
import tarfile

os.makedirs("logs")
for day in range(1, 8):
    with gzip.open(f"logs/app-2024-03-{day:02d}.log.gz", "wt") as f:
        for hour in range(24):
            f.write(f"2024-03-{day:02d} {hour:02d}:00 INFO requests={day * hour * 7 % 53}\n")

total = 0
for name in sorted(os.listdir("logs")):
    with gzip.open(os.path.join("logs", name), "rt") as f:
        requests = sum(int(line.rsplit("=", 1)[1]) for line in f)
    total += requests
    print(f"{name}: {requests} requests")
print("total:", total)

with tarfile.open("logs.tar", "w") as tar:
    for name in sorted(os.listdir("logs")):
        tar.add(os.path.join("logs", name))
with tarfile.open("logs.tar") as tar:
    members = tar.getnames()
    print(len(members), "members, first:", members[0])
    with tar.extractfile(members[2]) as f:
        print(gzip.decompress(f.read()).decode().splitlines()[12])
