class InsufficientFunds(Exception):
    pass


class Account:
    interest_rate = 0.0
    _count = 0

    def __init__(self, owner, balance=0):
        self.owner = owner
        self._balance = balance
        self.history = []
        Account._count += 1

    @property
    def balance(self):
        return self._balance

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("deposit must be positive")
        self._balance += amount
        self.history.append(("deposit", amount))

    def withdraw(self, amount):
        if amount > self._balance:
            raise InsufficientFunds(f"{self.owner} has {self._balance}, needs {amount}")
        self._balance -= amount
        self.history.append(("withdraw", amount))

    def __repr__(self):
        return f"{type(self).__name__}({self.owner!r}, {self._balance})"

    @classmethod
    def count(cls):
        return cls._count


class Savings(Account):
    interest_rate = 0.03

    def add_interest(self):
        self.deposit(round(self.balance * self.interest_rate, 2))


alice, bob = Account("Alice", 100), Savings("Bob", 1000)
alice.deposit(50)
bob.add_interest()
for amount in (120, 500):
    try:
        alice.withdraw(amount)
    except InsufficientFunds as e:
        print("Error:", e)
try:
    bob.balance = 5
except AttributeError:
    print("balance is read-only")
print(alice, bob, Account.count(), Savings.__mro__[1].__name__)
print(alice.history + bob.history)
