"""A tokenizer and a recursive descent parser for arithmetic expressions."""
import re
from collections import namedtuple

Token = namedtuple("Token", "kind text")
TOKENS = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<op>\*\*|[-+*/()%]))")


def tokenize(source):
    position = 0
    while position < len(source.rstrip()):
        match = TOKENS.match(source, position)
        if not match:
            raise SyntaxError(f"unexpected {source[position]!r} at {position}")
        yield Token(match.lastgroup, match.group(match.lastgroup))
        position = match.end()
    yield Token("end", "")


class Parser:
    def __init__(self, source):
        self.tokens = list(tokenize(source))
        self.at = 0

    def take(self, *texts):
        if self.tokens[self.at].text in texts and self.tokens[self.at].kind == "op":
            self.at += 1
            return self.tokens[self.at - 1].text
        return None

    def expression(self):
        value = self.term()
        while op := self.take("+", "-"):
            value = value + self.term() if op == "+" else value - self.term()
        return value

    def term(self):
        value = self.factor()
        while op := self.take("*", "/", "%"):
            other = self.factor()
            value = value * other if op == "*" else value / other if op == "/" else value % other
        return value

    def factor(self):
        if self.take("-"):
            return -self.factor()
        if self.take("("):
            value = self.expression()
            if not self.take(")"):
                raise SyntaxError("missing )")
        else:
            token = self.tokens[self.at]
            if token.kind != "number":
                raise SyntaxError(f"a number expected, not {token.text!r}")
            self.at += 1
            value = float(token.text)
        return value ** self.factor() if self.take("**") else value


for source in ["1 + 2 * 3", "(1 + 2) * 3", "2 ** 3 ** 2", "-4 + 10 % 3", "1 / 0", "2 * (3", "5 $ 2"]:
    try:
        print(f"{source} = {Parser(source).expression():g}")
    except (SyntaxError, ZeroDivisionError) as e:
        print(f"{source}: {type(e).__name__}: {e}")
