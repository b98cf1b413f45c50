def identity(n):
    return [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]


def multiply(a, b):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def power(matrix, n):
    result = identity(len(matrix))
    while n:
        if n & 1:
            result = multiply(result, matrix)
        matrix = multiply(matrix, matrix)
        n >>= 1
    return result


def determinant(matrix):
    rows = [row[:] for row in matrix]
    det = 1.0
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda r: abs(rows[r][i]))
        if abs(rows[pivot][i]) < 1e-12:
            return 0.0
        if pivot != i:
            rows[i], rows[pivot] = rows[pivot], rows[i]
            det = -det
        det *= rows[i][i]
        for r in range(i + 1, len(rows)):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [x - factor * y for x, y in zip(rows[r], rows[i])]
    return det


print("fibonacci(50) =", int(power([[1, 1], [1, 0]], 50)[0][1]))
m = [[2, -1, 0], [1, 3, 5], [0, 4, -2]]
print("determinant:", round(determinant(m), 6))
print("product:", multiply(m, [[1, 0, 2], [0, 1, 0], [3, 0, 1]]))
n = 24
hilbert = [[1 / (i + j + 1 + (i == j)) for j in range(n)] for i in range(n)]
print(f"trace of the square: {sum(multiply(hilbert, hilbert)[i][i] for i in range(n)):.6f}")
