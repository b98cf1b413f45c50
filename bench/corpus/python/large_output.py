"""Prints about 150 KB."""
import sys

width = 60
for row in range(1500):
    cells = " ".join(f"{(row * 31 + column * 17) % 997:4d}" for column in range(width // 3))
    print(f"{row:05d} {cells}")

sys.stdout.write("=" * 4000 + "\n")
for i in range(50):
    print(f"warning {i}: value out of range", file=sys.stderr)
print("done")
