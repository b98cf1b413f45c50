"""Write a small report to a file, read it back and check its contents."""
from pathlib import Path

output_dir = Path("output")
output_dir.mkdir(parents=True, exist_ok=True)
report = output_dir / "report.txt"

lines = [f"{i:03d}: {'even' if i % 2 == 0 else 'odd'} square={i * i}" for i in range(1, 21)]
report.write_text("\n".join(lines) + "\n", encoding="utf-8")

content = report.read_text(encoding="utf-8")
print(f"Wrote {len(lines)} lines, {report.stat().st_size} bytes to {report}")
print("First line:", content.splitlines()[0])
print("Last line:", content.splitlines()[-1])

with report.open("a", encoding="utf-8") as f:
    f.write("end of report\n")

assert report.read_text().endswith("end of report\n")
for path in sorted(output_dir.glob("*.txt")):
    print(path.name, path.suffix, path.stat().st_size)
