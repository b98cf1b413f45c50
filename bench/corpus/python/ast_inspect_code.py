import ast
import inspect

SOURCE = '''
import os, sys
from json import dumps as to_json

class Store:
    """Keeps values."""
    def get(self, key, default=None):
        if key in self.data:
            return self.data[key]
        return default

def helper(a, b=2, *args, **kwargs):
    for i in range(a):
        while b and i:
            b -= 1
    return [x for x in args if x]
'''


class Report(ast.NodeVisitor):
    def __init__(self):
        self.imports, self.functions = [], {}

    def visit_Import(self, node):
        self.imports += [alias.name for alias in node.names]

    def visit_ImportFrom(self, node):
        self.imports += [f"{node.module}.{alias.name}" for alias in node.names]

    def visit_FunctionDef(self, node):
        branches = (ast.If, ast.For, ast.While, ast.comprehension)
        self.functions[node.name] = 1 + sum(isinstance(n, branches) for n in ast.walk(node))
        self.generic_visit(node)


report = Report()
report.visit(ast.parse(SOURCE))
print("imports:", report.imports)
print("complexity:", report.functions)

namespace = {}
exec(compile(SOURCE, "<source>", "exec"), namespace)
print("signature:", inspect.signature(namespace["helper"]))
print("doc:", inspect.getdoc(namespace["Store"]))
print("result:", namespace["helper"](2, 1, 0, 5, None, 7))
try:
    ast.parse("def broken(:\n  pass")
except SyntaxError as e:
    print("SyntaxError in line", e.lineno)
print(ast.literal_eval("{'a': [1, 2.5, (None, True)]}"))
