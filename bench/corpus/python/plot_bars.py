# needs: matplotlib numpy
import logging
import os

import matplotlib

matplotlib.use("Agg")
logging.getLogger("matplotlib").setLevel(logging.ERROR)  # no message about the font cache
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(7)
scores = rng.normal(70, 12, 400).clip(0, 100)
groups = ["A", "B", "C", "D"]
means = [scores[i::4].mean() for i in range(4)]

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
left.hist(scores, bins=20, color="steelblue", edgecolor="white")
left.set_title("Distribution")
bars = right.bar(groups, means, color="salmon")
for bar, value in zip(bars, means):
    right.text(bar.get_x() + bar.get_width() / 2, value, f"{value:.1f}", ha="center", va="bottom")
right.set_title("Mean by group")
fig.tight_layout()
fig.savefig("scores.svg")

print("means:", [round(float(m), 2) for m in means])
print("ticks:", len(left.get_xticks()) > 2, "bars:", len(right.patches))
print("svg:", os.path.getsize("scores.svg") > 5000)
