from __future__ import annotations

import math
import operator


class Vector:
    __slots__ = ("components",)

    def __init__(self, *components: float):
        self.components = tuple(components)

    def _combine(self, other: Vector, op) -> Vector:
        if len(self) != len(other):
            raise ValueError(f"dimensions differ: {len(self)} and {len(other)}")
        return Vector(*map(op, self, other))

    def __add__(self, other):
        return self._combine(other, operator.add)

    def __sub__(self, other):
        return self._combine(other, operator.sub)

    def __mul__(self, factor):
        return Vector(*(c * factor for c in self))

    __rmul__ = __mul__

    def __matmul__(self, other):
        return sum(map(operator.mul, self, other))

    def __abs__(self):
        return math.sqrt(self @ self)

    def __iter__(self):
        return iter(self.components)

    def __len__(self):
        return len(self.components)

    def __getitem__(self, index):
        return self.components[index]

    def __eq__(self, other):
        return isinstance(other, Vector) and self.components == other.components

    def __hash__(self):
        return hash(self.components)

    def __repr__(self):
        return f"Vector{self.components}"


a, b = Vector(1, 2, 3), Vector(4, 5, 6)
print(a + b, b - a, 2 * a, a @ b, round(abs(b), 4))
print(a[0], b[-1], list(a), len({a, b, Vector(1, 2, 3)}))
try:
    a + Vector(1, 2)
except ValueError as e:
    print("ValueError:", e)
