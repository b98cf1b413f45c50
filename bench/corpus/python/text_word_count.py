import string
import textwrap
import unicodedata
from collections import Counter

TEXT = """The café at the corner opens at seven. Every morning, the same people
come: a teacher, two nurses, and an old man who reads the news. The teacher
drinks her coffee quickly; the old man does not. "Time," he says, "is what
the young are short of." Naïve? Perhaps -- but nobody at the café argues."""

words = TEXT.lower().translate(str.maketrans("", "", string.punctuation)).split()
counts = Counter(words)
print(len(words), "words,", len(counts), "different")
for word, count in sorted(counts.items(), key=lambda wc: (-wc[1], wc[0]))[:6]:
    print(f"{word:<8}{'*' * count}")

ascii_text = unicodedata.normalize("NFKD", TEXT).encode("ascii", "ignore").decode()
print(textwrap.fill(ascii_text, width=50, initial_indent="> ", subsequent_indent="> "))
print(textwrap.shorten(TEXT, width=40, placeholder="..."))

template = string.Template("Dear $name,\nyour order $order ships $when.")
print(template.safe_substitute(name="Ana", order="#17"))
print(f"{'left':<10}|{'right':>10}|{'centre':^10}|{1234567.891:,.2f}|{255:#x}|{0.256:.1%}")
