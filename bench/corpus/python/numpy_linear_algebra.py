# needs: numpy
import numpy as np

a = np.array([[4.0, -2.0, 1.0], [-2.0, 4.0, -2.0], [1.0, -2.0, 4.0]])
b = np.array([11.0, -16.0, 17.0])

x = np.linalg.solve(a, b)
print("solution:", x.round(6))
print("residual is small:", np.allclose(a @ x, b))
print("determinant:", round(float(np.linalg.det(a)), 6))
print("eigenvalues:", np.sort(np.linalg.eigvalsh(a)).round(4))
lower = np.linalg.cholesky(a)
print("cholesky:", np.allclose(lower @ lower.T, a))

try:
    np.linalg.inv(np.array([[1.0, 2.0], [2.0, 4.0]]))
except np.linalg.LinAlgError as e:
    print("error:", e)

grid = np.arange(24).reshape(2, 3, 4)
print(grid.sum(axis=(0, 2)), grid[:, ::2, -1].tolist())
print(np.einsum("ij,jk->ik", np.eye(2) * 3, np.ones((2, 2))).tolist())
