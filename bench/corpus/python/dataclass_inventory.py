from dataclasses import asdict, dataclass, field, replace


@dataclass(order=True)
class Item:
    sort_index: tuple = field(init=False, repr=False)
    name: str
    price: float
    quantity: int = 0
    tags: list = field(default_factory=list)

    def __post_init__(self):
        if self.price < 0:
            raise ValueError(f"negative price for {self.name}")
        self.sort_index = (self.name.lower(), self.price)

    @property
    def total(self):
        return self.price * self.quantity


@dataclass(frozen=True)
class Location:
    shelf: str
    bin: int


inventory = {
    Location("A", 1): Item("Bolt", 0.25, 500, ["metal"]),
    Location("A", 2): Item("anchor", 1.75, 40),
    Location("B", 7): Item("Washer", 0.05, 2000, ["metal", "small"]),
}
for item in sorted(inventory.values()):
    print(item, f"total={item.total:.2f}")
print(f"value: {sum(i.total for i in inventory.values()):.2f}")

cheaper = replace(inventory[Location("A", 2)], price=1.5)
print(cheaper, cheaper == inventory[Location("A", 2)])
print({k: v for k, v in asdict(cheaper).items() if k != "sort_index"})

try:
    Location("C", 3).bin = 4
except AttributeError as e:
    print(type(e).__name__, e)
try:
    Item("Nail", -1)
except ValueError as e:
    print("ValueError:", e)
