import math
from abc import ABC, abstractmethod
from functools import total_ordering


@total_ordering
class Shape(ABC):
    registry = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Shape.registry[cls.__name__.lower()] = cls

    @abstractmethod
    def area(self): ...

    def __eq__(self, other):
        return math.isclose(self.area(), other.area())

    def __lt__(self, other):
        return self.area() < other.area()

    def __str__(self):
        return f"{type(self).__name__} with area {self.area():.2f}"


class Circle(Shape):
    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return math.pi * self.radius**2


class Rectangle(Shape):
    def __init__(self, width, height):
        self.width, self.height = width, height

    def area(self):
        return self.width * self.height


class Square(Rectangle):
    def __init__(self, side):
        super().__init__(side, side)


specs = [("circle", 2), ("rectangle", 3, 4), ("square", 3.5), ("rectangle", 2, 6)]
shapes = [Shape.registry[name](*arguments) for name, *arguments in specs]
for shape in sorted(shapes):
    print(shape)
print("largest:", max(shapes), "| equal:", shapes[1] == shapes[3])
try:
    Shape()
except TypeError as e:
    print("TypeError:", str(e).split(" with")[0])
