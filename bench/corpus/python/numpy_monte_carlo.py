# needs: numpy
import numpy as np

rng = np.random.default_rng(2024)
n = 20_000
points = rng.random((n, 2))
inside = (points**2).sum(axis=1) <= 1
print(f"pi is about {4 * inside.mean():.3f}")

steps = rng.choice([-1, 1], size=(200, 500))
paths = steps.cumsum(axis=1)
print("mean end:", paths[:, -1].mean().round(3), "largest excursion:", int(np.abs(paths).max()))
print("never negative:", int((paths.min(axis=1) >= 0).sum()), "of", len(paths))

np.random.seed(1)
print("legacy generator:", np.random.randint(0, 100, 5).tolist())
np.save("paths.npy", paths.astype(np.int16))
print("loaded:", np.load("paths.npy").shape)
