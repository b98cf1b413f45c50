from enum import Enum, Flag, IntEnum, auto


class State(Enum):
    CREATED = "created"
    PAID = "paid"
    SHIPPED = "shipped"
    DELIVERED = "delivered"
    CANCELLED = "cancelled"

    @property
    def final(self):
        return self in (State.DELIVERED, State.CANCELLED)


class Priority(IntEnum):
    LOW = 1
    HIGH = 10


class Permission(Flag):
    READ = auto()
    WRITE = auto()
    EXECUTE = auto()


TRANSITIONS = {
    State.CREATED: {State.PAID, State.CANCELLED},
    State.PAID: {State.SHIPPED, State.CANCELLED},
    State.SHIPPED: {State.DELIVERED},
}


class Order:
    def __init__(self):
        self.state = State.CREATED
        self.log = [self.state.name]

    def to(self, state):
        if state not in TRANSITIONS.get(self.state, ()):
            raise RuntimeError(f"{self.state.value} -> {state.value} is not allowed")
        self.state = state
        self.log.append(state.name)


order = Order()
for name in ("paid", "delivered", "shipped", "cancelled", "delivered"):
    try:
        order.to(State(name))
    except RuntimeError as e:
        print("refused:", e)
print(order.log, order.state.final)
print(sorted([Priority.HIGH, Priority.LOW]) == [1, 10], Priority(10).name)
rights = Permission.READ | Permission.EXECUTE
print(Permission.WRITE in rights, bool(rights & Permission.READ), [p.name for p in Permission if p in rights])
