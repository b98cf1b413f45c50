import argparse
from pathlib import Path


def build_parser():
    parser = argparse.ArgumentParser(prog="wc", description="Count lines, words and characters.")
    parser.add_argument("files", nargs="+", type=Path, help="files to read")
    parser.add_argument("-l", "--lines", action="store_true", help="print only lines")
    parser.add_argument("--min-length", type=int, default=1, metavar="N", help="shortest word (default: %(default)s)")
    parser.add_argument("--format", choices=["text", "tsv"], default="text")
    return parser


def count(path, min_length):
    text = path.read_text()
    return text.count("\n"), sum(1 for w in text.split() if len(w) >= min_length), len(text)


def main(argv):
    args = build_parser().parse_args(argv)
    for path in args.files:
        lines, words, chars = count(path, args.min_length)
        if args.lines:
            print(lines, path)
        elif args.format == "tsv":
            print(lines, words, chars, path, sep="\t")
        else:
            print(f"{lines:6d}{words:6d}{chars:6d} {path}")


Path("a.txt").write_text("the quick brown fox\njumps over\nthe lazy dog\n")
Path("b.txt").write_text("hello world\n" * 12)
main(["a.txt", "b.txt"])
main(["--lines", "b.txt"])
main(["--min-length=4", "--format", "tsv", "a.txt"])
print(build_parser().format_usage().strip())
