# needs: numpy
import numpy as np

data = np.array([[3.2, 4.1, 5.9], [2.7, 3.8, 6.1], [3.9, 4.4, 5.2], [3.1, 4.0, 5.7]])
print("shape:", data.shape, "dtype:", data.dtype)
print("mean by column:", data.mean(axis=0).round(3))
print("std by row:", data.std(axis=1, ddof=1).round(3))
normalized = (data - data.mean(axis=0)) / data.std(axis=0)
print("normalized sums:", np.abs(normalized.sum(axis=0)).max() < 1e-9)

x = np.linspace(0, 10, 50)
y = 2.5 * x + 1 + np.sin(x)
slope, intercept = np.polyfit(x, y, 1)
print(f"fit: {slope:.3f} x + {intercept:.3f}")
print("percentiles:", np.percentile(y, [25, 50, 75]).round(2))
print("histogram:", np.histogram(y, bins=5)[0])
mask = (x > 2) & (x < 3)
print("selected:", np.count_nonzero(mask), y[mask].round(2))
print("where:", np.where(data > 5, 1, 0).tolist())
