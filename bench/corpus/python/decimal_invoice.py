from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, getcontext
from fractions import Fraction

getcontext().prec = 28
CENT = Decimal("0.01")
lines = [("Consulting", "12.5", "95.00"), ("Hosting", "1", "29.99"), ("Domain", "3", "11.90")]

subtotal = Decimal(0)
for name, quantity, price in lines:
    amount = (Decimal(quantity) * Decimal(price)).quantize(CENT, ROUND_HALF_UP)
    subtotal += amount
    print(f"{name:<12}{quantity:>6} x {price:>7} {amount:>10}")
tax = (subtotal * Decimal("0.19")).quantize(CENT, ROUND_HALF_UP)
print(f"{'Subtotal':<29}{subtotal:>8}\n{'Tax 19%':<29}{tax:>8}\n{'Total':<29}{subtotal + tax:>8}")

print("float:", 0.1 + 0.2 == 0.3, "decimal:", Decimal("0.1") + Decimal("0.2") == Decimal("0.3"))
try:
    Decimal("12,50")
except InvalidOperation:
    print("12,50 is not a decimal")

share = Fraction(1, 3) + Fraction(1, 4)
print("shares:", share, float(share).__round__(4), 1 - share, Fraction("0.125"))
