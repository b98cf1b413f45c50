# needs: matplotlib
import logging
import math
import os

import matplotlib

matplotlib.use("Agg")
logging.getLogger("matplotlib").setLevel(logging.ERROR)  # no message about the font cache
import matplotlib.pyplot as plt

x = [i / 10 for i in range(100)]
fig, ax = plt.subplots(figsize=(6, 4))
ax.plot(x, [math.sin(v) for v in x], label="sin")
ax.plot(x, [math.exp(-v / 3) for v in x], "--", label="decay")
ax.set_xlabel("time")
ax.set_ylabel("value")
ax.set_title("Signals")
ax.legend()
ax.grid(True)
fig.savefig("signals.png", dpi=60)
plt.close(fig)

with open("signals.png", "rb") as f:
    header = f.read(24)
print("PNG:", header[:8] == b"\x89PNG\r\n\x1a\n")
print("size:", int.from_bytes(header[16:20], "big"), "x", int.from_bytes(header[20:24], "big"))
print("larger than 1000 bytes:", os.path.getsize("signals.png") > 1000)
