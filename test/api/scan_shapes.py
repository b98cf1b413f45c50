"""Texts for the scanner, nearly as long as those that it scans for advice: short lines, dense ones, data, long expressions, deep ones; for each language."""

import random

SIZE = 250_000


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


class Minified:
    """JavaScript as minifiers write it: one expression, short names, a token in 3.5 bytes (xterm.js and jQuery UI: 4), nothing that comes
    twice."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = list("et")
        self.members = ["".join(self.random.choice("aeioulnrstdcmp") for _ in range(self.random.randint(5, 15))) for _ in range(2000)]

    def some(self, *ways):
        return self.random.choice(ways)

    def name(self):
        return self.random.choice(self.names)

    def function(self, write):
        """The text of a function with one more name in scope."""
        n = len(self.names)
        self.names.append("nirsoalchudpfmgv"[n % 16])
        text = write(self.names[-1])
        del self.names[n:]
        return text

    def member(self):
        return self.random.choice(self.members)

    def words(self):
        return '"' + " ".join(self.member() for _ in range(self.random.randint(1, 9))) + '"'

    def leaf(self):
        kind = self.random.randrange(12)
        if kind < 3:
            return self.name()
        return [lambda: f"this.{self.member()}", lambda: f"{self.name()}.{self.member()}", lambda: "null", lambda: "!0", lambda: "void 0",
                lambda: str(self.random.randint(0, 300)), lambda: f"{self.name()}[{self.random.randint(0, 9)}]", self.words, self.words][kind - 3]()

    def value(self, depth):
        if depth == 0 or self.random.random() < 0.25:
            return self.leaf()
        v = lambda: self.value(depth - 1)  # noqa: E731
        kind = self.random.randrange(14)
        if kind < 3:
            return f"{self.name()}.{self.member()}({','.join(v() for _ in range(self.random.randint(0, 3)))})"
        if kind < 5:
            return f"{v()}{self.some('+', '-', '*', '===', '&&', '||', '<', '>>', '&', '!==')}{v()}"
        return [lambda: f"{v()}?{v()}:{v()}", lambda: f"({v()},{v()})", lambda: f"[{v()},{v()}]", lambda: f"{{{self.member()}:{v()},{self.member()}:{v()}}}",
                lambda: self.function(lambda name: f"function({name}){{{self.statements(depth - 1)}}}"),
                lambda: self.function(lambda name: f"({name}=>({v()}))"),
                lambda: f"new {self.name()}.{self.member()}({v()})", lambda: f"!{self.leaf()}",
                lambda: f"({self.name()}={v()}).{self.member()}"][kind - 5]()

    def statement(self, depth):
        v = lambda: self.value(min(depth, 3))  # noqa: E731
        kind = self.random.randrange(10)
        if kind < 4 or depth == 0:
            return f"{self.some(self.name(), 'this')}.{self.member()}={v()};"
        if kind < 6:
            return f"{self.name()}.{self.member()}({v()},{v()});"
        return [lambda: f"var {self.name()}={v()},{self.name()}={v()};", lambda: f"if({v()}){{{self.statements(depth - 1)}}}else {self.name()}={v()};",
                lambda: f"for(var {self.name()}=0;{v()};{self.name()}++){self.name()}[{self.leaf()}]={v()};",
                lambda: f"try{{{self.statements(depth - 1)}}}catch(t){{{self.statements(0)}}}"][kind - 6]()

    def statements(self, depth):
        text = "".join(self.statement(depth) for _ in range(self.random.randint(1, 4)))
        return text if self.random.random() < 0.5 else f"{text}return {self.value(min(depth, 2))}"

    def text(self):
        parts, size = [], 0
        while size < SIZE:
            parts.append(f"{self.member()}{len(parts)}:" + self.function(lambda name: f"function(e,t,{name}){{{self.statements(4)}}}"))
            size += len(parts[-1]) + 1
        return f"!function(e){{e.modules({{{','.join(parts)}}})}}(this);"


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
        "minified": Minified(1).text(),
    },
}
