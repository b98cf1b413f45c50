"""Texts of a megabyte for the scanner: short lines, dense ones, data, long expressions, deep ones; for each language."""

SIZE = 1_000_000


def fill(piece):
    """The piece again and again; {i} in it is a number that grows."""
    if "{i}" not in piece:
        return piece * (SIZE // len(piece))
    parts, size, i = [], 0, 0
    while size < SIZE:
        parts.append(piece.replace("{i}", str(i)))
        size += len(parts[-1])
        i += 1
    return "".join(parts)


def within(head, piece, tail):
    return head + fill(piece) + tail


DEEP = "[" * 100 + "1" + "]" * 100

SHAPES = {
    "python": {
        "a=1": fill("a=1\n"),
        "x = 1": fill("x = 1\n"),
        "f(x)": fill("f(x)\n"),
        "a;a;a": fill("a;" * 30 + "a\n"),
        "print of a text": fill('print("hello {i}")\n'),
        "imports": fill("import os\n"),
        "files that are opened": fill("open('/etc/x').read()\n"),
        "names of their own": fill("v{i} = v{i} + {i}\n"),
        "functions": fill("def f{i}(a, b={i}):\n    c = a + b\n    return c * {i}\n"),
        "one function": within("def f():\n", " a=1\n", ""),
        "list of numbers": within("x=[", "1,", "]\n"),
        "list of lists": within("x=[", "[{i},{i}.5],", "]\nopen('f').write(x)\n"),
        "list of texts": within("x=[", "'a','b c',", "]\n"),
        "dictionary": within("x={", "'k{i}':{i},", "}\n"),
        "arguments": within("f(", "a,", ")\n"),
        "long sum": within("x=", "a+", "a\n"),
        "long chain": within("x=a", ".b", "\n"),
        "deep": fill(DEEP + "\n"),
        "comments": fill("#\n"),
    },
    "bash": {
        "a=1": fill("a=1\n"),
        "f x": fill("f x\n"),
        "a;a;a": fill("a;" * 30 + "a\n"),
        "echo": fill("echo hello {i}\n"),
        "variables": fill('"$a" $b\n'),
        "redirections": fill("a>b\n"),
        "pipes": fill("a|b\n"),
        "commands in commands": fill("a $(b)\n"),
        "if": fill("if a;then b;fi\n"),
        "functions": fill("f{i}() {\n  a\n  b={i}\n}\n"),
        "here-documents": fill("cat <<E\na $b\nE\n"),
        "many words": within("f ", "a ", "\n"),
        "array": within("x=(", "a ", ")\n"),
        "comments": fill("#\n"),
    },
    "javascript": {
        "a=1": fill("a=1\n"),
        "a=1;": fill("a=1;"),
        "f(x)": fill("f(x)\n"),
        "f(x);": fill("f(x);\n"),
        "constants": fill("const c{i} = {i};\n"),
        "functions": fill("function f{i}(a,b){return a&&b?f(a,1):[a,b]}\n"),
        "arrows": fill("a=>b\n"),
        "requires": fill("require('fs');\n"),
        "list of numbers": within("x=[", "1,", "];\n"),
        "list of objects": within("x=[", "{a:{i},b:[1,2]},", "];\n"),
        "object": within("x={", "a:1,", "};\n"),
        "long sum": within("x=", "a+", "a;\n"),
        "long chain": within("x=a", ".b", ";\n"),
        "deep": fill(DEEP + ";\n"),
        "blocks": fill("{}"),
        "comments": fill("//\n"),
    },
}
