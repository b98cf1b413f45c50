import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed


def download(name):
    time.sleep(0.002)
    if name.endswith("3"):
        raise OSError(f"cannot download {name}")
    return name, len(name) * 100


names = [f"file-{i}" for i in range(8)]
sizes, errors = {}, []
with ThreadPoolExecutor(max_workers=4) as pool:
    futures = {pool.submit(download, name): name for name in names}
    for future in as_completed(futures):
        try:
            name, size = future.result()
            sizes[name] = size
        except OSError as e:
            errors.append(str(e))
print(sorted(sizes.items()), errors)

lock = threading.Lock()
counter = 0
tasks = queue.Queue()
for i in range(100):
    tasks.put(i)


def worker():
    global counter
    while True:
        try:
            value = tasks.get_nowait()
        except queue.Empty:
            return
        with lock:
            counter += value


threads = [threading.Thread(target=worker) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("counter:", counter)
