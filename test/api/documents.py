"""The examples of a Markdown document.  doc/how-to-add.md ("An example in a document") says how they are written."""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"```(\S*) ?(\S*)")


@dataclasses.dataclass
class Example:
    line: int
    text: str
    name: str = ""  # the name of the file with this text; without a name, the text is a script
    output: str = None  # what the script prints
    is_part: bool = False  # the output may have more


@dataclasses.dataclass
class Document:
    before: str = ""  # scripts before the first section: functions for all other scripts
    sections: dict = dataclasses.field(default_factory=dict)  # title: [Example]
    tables: list = dataclasses.field(default_factory=list)  # (title of the section, [{column: cell}])


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def codes(cell):
    """The spans of code in a cell."""
    return [span.replace("\\|", "|") for span in re.findall(r"`([^`]*)`", cell)]


def block(lines):
    """The text up to the end of a fenced block."""
    text = ""
    for _, line in lines:
        if line == "```":
            return text
        text += line + "\n"
    raise ValueError("a block without an end")


def parse(path):
    """Reads a document.  A section begins with a heading of the second level."""
    found, title, header, last = Document(), None, None, None
    lines = iter(enumerate((ROOT / path).read_text().splitlines(), 1))
    for number, line in lines:
        if line.startswith("## "):
            title, last = line[3:], None
            found.sections[title] = []
        header = header if line.startswith("|") else None
        if m := FENCE.fullmatch(line):
            language, name, text = *m.groups(), block(lines)
            if title is None:
                found.before += text if language == "sh" else ""
            elif name or language == "sh":
                last = Example(number, text, name)
                found.sections[title].append(last)
            elif language == "text" and last:
                last.output, last = text, None
        elif line.startswith("|") and header is None:
            header = cells(line)
            found.tables.append((title, []))
        elif line.startswith("|") and set(line) - set("|- :"):
            row = dict(zip(header, cells(line), strict=True))
            found.tables[-1][1].append(row)
            for command in codes(row.get("command", "")):
                found.sections[title].append(Example(number, command, output="".join(codes(row["prints"])), is_part=True))
    return found


def matches(example, output):
    """Returns whether a script printed the expected output.  … stands for any text in a line, a line with … only for any number of lines."""
    parts = []
    for line in example.output.splitlines(keepends=True):
        parts.append("(?:.*\n)*" if line.strip() == "…" else re.escape(line).replace("…", ".*"))
    return (re.search if example.is_part else re.fullmatch)("".join(parts), output)
