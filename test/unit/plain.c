#include "warm/plain.h"

#include <time.h>

#include "test.h"

static int is_plain(const char *code)
{
        return plain_code(code, strlen(code));
}

static void all(const char *const *codes, int should)
{
        for (; *codes; codes++)
                if (is_plain(*codes) != should && test_fail(__FILE__, __LINE__))
                        printf("%s: %s\n", should ? "not plain" : "plain", *codes);
}

#define ALL(should, ...)                                                                                     \
        do {                                                                                                 \
                static const char *const codes[] = {__VA_ARGS__, NULL};                                      \
                all(codes, should);                                                                          \
        } while (0)
#define PLAIN(...) ALL(1, __VA_ARGS__)
#define NOT_PLAIN(...) ALL(0, __VA_ARGS__)

TEST(code_without_imports)
{
        PLAIN("", "\n", "print(1+1)", "x = [i ** 2 for i in range(10)]\nprint(sum(x))\n",
              "def f(a, *b, **c):\n    global g\n    g = a\n    return lambda x: x\n",
              "print(f'{1 + 1:.2f}')", "while (n := input()) != 'x': print(n)", "raise SystemExit(3)",
              "raise ValueError(1) from None",
              "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    print(e)\nfinally:\n    print('end')\n",
              "match 1:\n    case 1: print(1)\n", "print('caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80')",
              "gr\xc3\xb6\xc3\x9f"
              "e = 1",
              "if __name__ == \"__main__\":\n    print(__name__)\n", "x = 1if 2else 3", "\tprint(1)",
              "\x0cprint(1)", "print(1)\r\nprint(2)\r\n", "import_ = 1; opened = 2; typed = 3",
              "print(input().split())");
        NOT_PLAIN("open('main.py')", "print(open)", "f = open", "x = open if 1 else 2", "exec('1')",
                  "eval('1')", "compile('1', '', 'exec')", "getattr(print, 'x')", "hasattr(1, 'x')",
                  "setattr(f, 'a', 1)", "delattr(f, 'a')", "vars()", "globals()", "locals()", "type(1)",
                  "x = type", "breakpoint()", "help()", "exit()", "quit(1)", "license()", "print(__file__)",
                  "print(__builtins__)", "(x for x in []).gi_frame", "print.__self__", "f.__globals__",
                  "f.__code__", "().__class__", "''.__class__.__mro__", "a__b = 1", "e.__traceback__",
                  "e.tb_frame", "c.cr_frame", "g.ag_frame", "async def f(): pass", "await x",
                  "x = 1if open else 2", "x = 1 if open else 2", "match open:", "for open in x: pass",
                  "lambda open: 1", "print(not open)", "[open]", "@open", "f(x, open)", "\topen('x')",
                  "x;open('x')", "x = 0or\topen('x')", "1if open else 2", "print(0x1if open else 2)",
                  "0.jor open('x')", "0.e5or open('x')", "0jor open('x')", "x = 0.jor  eval",
                  "''or open('x')");
}

TEST(words_that_are_no_code_are_no_harm)
{
        PLAIN("print('please open the door')", "# we open it", "# type of it", "s = 'open'", "s = \"exit\"",
              "print('the type is', 1)", "d = {'type': 'a'}", "door.open()", "self.exec(1)", "x.type = 1",
              "print('first class, second class.')", "# a class for it", "'''A class.'''",
              "print('class A')");
        /* They look like code. */
        NOT_PLAIN("# type: int", "print('(open)')", "print('class A(b=c)')", "# import this");
}

TEST(harmless_modules_are)
{
        PLAIN("import json\nprint(json.dumps({'a': 1}))\n", "import json; print(json.dumps({}))",
              "import json", "import json, re\nprint(json.loads('1'), re.findall('a', 'b'))",
              "import json , math  # both\n", "import json; import math; print(math.pi)",
              "import re\nx = re.compile('a')\nx.match('b').group()",
              "from json import dumps, loads\nprint(dumps(loads('1')))",
              "from  math  import  pi ,e\nprint(pi)",
              "from datetime import datetime, timedelta\nprint(datetime.now() - timedelta(1))",
              "import datetime\nprint(datetime.datetime.now())", "from random import random\nprint(random())",
              "from collections import Counter, defaultdict\nprint(Counter('ab').most_common(1))",
              "import collections\nd = collections.defaultdict(list)",
              "import math\r\nprint(math.sqrt(2))\r\n",
              "def f():\n    from json import dumps\n    return dumps(1)\n",
              "import time\nt = time.time()\nprint('Elapsed time:', time.time() - t)",
              "import random\n# random numbers\nprint(random.choice([1]))", "import json\nprint('json')",
              "import json\nprint(f\"{json.dumps(1)}\")", "import json\nprint(f'{json.dumps({\"a\": 1})}')",
              "import json\nx.json()\n", "json = 1\nprint(json)", "time = 5; string = 'a'; re = [time]",
              "import math\nprint(f'{math.pi:.2f}')",
              "from functools import reduce\nfrom itertools import chain\nprint(reduce(max, chain([1], "
              "[2])))");
}

TEST(what_is_not_in_the_table_is_not)
{
        NOT_PLAIN("import os", "import sys", "import json, os", "import json; import os", "import io",
                  "import enum", "import inspect", "import atexit", "import threading", "import weakref",
                  "import gc", "import helper", "import main", "import __main__", "import jsonx",
                  "import jso", "import json as os", "import json as j", "from json import *",
                  "import json.tool", "from json import decoder", "from json import codecs",
                  "from json import dumps as d", "from json.decoder import JSONDecoder",
                  "from json import (dumps)", "from . import json", "from .json import dumps",
                  "from os import path", "from os import json", "from enum import Enum",
                  "from functools import wraps", "from operator import attrgetter", "from io import StringIO",
                  "from string import Formatter", "from typing import get_type_hints", "import importlib",
                  "from time import", "import", "import ", "import ,", "import json,", "import json, ",
                  "from math import pi,", "from math import pi e", "import json math", "import math.pi",
                  "from collections import abc", "from heapq import merge", "import heapq\nheapq.merge(a)",
                  "from collections import ChainMap", "from typing import Mapping",
                  "from datetime import sys", "from random import _os",
                  "from re import compile\ncompile('1', '', 'eval')", "from __future__ import annotations");
}

TEST(a_module_is_used_by_its_names_only)
{
        NOT_PLAIN("import json\njson.codecs", "import json\nx = json", "import json\nprint(json)",
                  "import json\n(json).codecs", "import json\njson .codecs", "import json\njson. codecs",
                  "import json\njson\\\n.codecs", "import json\njson.\\\ncodecs", "import json\n[json]",
                  "import json\nf(json)", "import json\ndel json", "x = json\nimport json",
                  "import json\nfor x in json: 1", "import json\nx = lambda: json", "import json\nf(json=1)",
                  "import json\nmatch json:\n case x: 1", "import json\ncase json(codecs=x)",
                  "import json\nreturn json", "import json\njson.dumpsx", "import json\njson.dump_s",
                  "import json\nf'{json}'", "import json\nf\"{json.codecs}\"",
                  "import json\nx = 1if json else 2", "import json\nx = json if 1 else 2",
                  "import json\nx=json;y=1",
                  "import json\ntry: json.dumps\nexcept AttributeError as e: e.obj",
                  "import json\nmatch e:\n    case AttributeError(obj=m): m", "import datetime\ndatetime.sys",
                  "import random\nrandom._os.system('ls')", "import re\nre.enum",
                  "import collections\ncollections.abc", "import json\nnot json",
                  "import json\nmatch json:", "import json\njson = json.codecs",
                  "import json\nprint('(json)')");
        /* Nor by an attribute of a class. */
        NOT_PLAIN("class A:\n    import json\nA.json.codecs", "class A: import json\nA.json.codecs",
                  "class A: x = 1; import json", "class A:\n    pass; import json",
                  "def f():\n    import json\n", "if 1: import json", " import json", "\timport json",
                  "x = 1; import json", "class A: \\\nimport json", "class A: \\\r\nimport json",
                  "import json;\\\nimport os");
}

TEST(imports_are_as_they_look)
{
        NOT_PLAIN("from\tos import json", "from os\timport json", "from os \\\nimport json",
                  "from \\\nos import json", "from os import \\\njson", "from os import (\njson)",
                  "from os import (json)", "import\tjson", "import\tos", "import json\\\n, os",
                  "import json,\\\nos", "import \\\nos", "import json\t", "import json\t, os",
                  "from json import dumps, \\\ncodecs", "from json import dumps\\\n, codecs",
                  "import\x0cjson", "import json\x0c, os", "from\x0cos import math", "x = '''\n''';import os",
                  "lazy import json", "import json if 1", "\rimport json", "print(1)\rimport json",
                  "import(json)", "import json\nimport json.tool", "import json # ok\nimport os",
                  "__import__('os')", "import json\nprint('import os')\nimport os", "f'{__import__(\"os\")}'",
                  "1;import os");
        PLAIN("# a\nimport json", "'''\nimport json\n'''", "import json#x", "import json;",
              "import json ;x = 1");
}

TEST(ordinary_classes)
{
        PLAIN("class A: pass",
              "class A:\n    def __init__(self, x):\n        self.x = x\n    def __repr__(self):\n"
              "        return f'A({self.x})'\nprint(A(1))\n",
              "class A(Exception):\n    pass\nraise A('x')", "class A(B, C):\n    pass",
              "class A():\n    x = 1", "class A (B):\n    pass", "class A(Generic[T]):\n    pass",
              "class A:\n    def __init__(self):\n        super().__init__()\n        self.__balance = 0\n",
              "class A:\n    def f(self):\n        return self.__class__.__name__\n",
              "class A:\n    def f(self):\n        return type(self).__name__\n", "print(type(a.b).__name__)",
              "from dataclasses import dataclass, field\n@dataclass\nclass A:\n    x: int = 0\n    y: list = "
              "field(default_factory=list)\nprint(A(1))",
              "from abc import ABC, abstractmethod\nclass A(ABC):\n    @abstractmethod\n    def f(self): "
              "...\n",
              "class A:\n    @property\n    def x(self): return 1\n    @x.setter\n    def x(self, v): pass\n"
              "    @staticmethod\n    def y(): pass\n    @classmethod\n    def z(cls): return cls()\n",
              "import json\nclass E(json.JSONEncoder):\n    def default(self, o): return 1\n",
              "class A:\n    def __enter__(self): return self\n    def __exit__(self, *a): pass\nwith A() as "
              "a: pass");
        NOT_PLAIN(
                "class A:\n    def __del__(self): print('gone')\na = A()", "class A(metaclass=M): pass",
                "class A(B, metaclass=M): pass", "class A(**k): pass", "class A(*b): pass",
                "class A(f()): pass", "class A(B if 1 else C): x.y = lambda: {1: 2}\nclass B(C, x=1): pass",
                "class M(type): pass", "class A(\n    metaclass=M): pass",
                "class A(B\\\n, metaclass=M): pass", "class A\\\n(metaclass=M): pass",
                "class\tA(metaclass=M): pass", "class \\\nA(metaclass=M): pass",
                "class A\t(metaclass=M): pass", "class A\x0c(metaclass=M): pass",
                "class A[T](metaclass=M): pass", "class A [T]: pass", "class A(B) : pass",
                "class A:\n    def __init_subclass__(c): pass", "class A:\n    __slots__ = ()",
                "class A:\n    def __getattr__(s, n): pass", "class A:\n    def __getattribute__(s, n): pass",
                "class A:\n    def __get__(s, i, o): pass", "class A:\n    def __set_name__(s, o, n): pass",
                "class A:\n    def __setattr__(s, n, v): pass",
                "class A:\n    def __class_getitem__(c, i): pass", "class A:\n    def __reduce__(s): pass",
                "class A:\n    def __instancecheck__(s, i): pass", "A.__dict__", "A.__class__",
                "A.__class__('B', (), {})", "x.__class__.__name__s", "x.__class__.__mro__",
                "__class__.__name__", "A.__bases__", "A.__subclasses__()", "type(a)('B', (), {})",
                "type(a.b)", "type (a).__name__", "type(a).__name__x", "type(f(a)).__name__",
                "type(a).__dict__", "A._A__x", "class A:\n    __x__ = 1", "A.__init__.__globals__", "A.__x_",
                "class A:\n    ___del__ = 1", "class A(B.__class__): pass", "A.__del = 1; A.__del__");
}

TEST(generators_that_have_no_end_of_their_own)
{
        PLAIN("def g():\n    a = 0\n    while True:\n        yield a\n        a += 1\nprint(next(g()))");
        NOT_PLAIN("def g():\n    try: yield 1\n    finally: print('finally')\nx = g(); next(x)",
                  "def g():\n    with a: yield 1", "def g():\n    yield from x",
                  "def g():\n    yield\tfrom x", "def g():\n    yield\\\n from x",
                  "with a: pass\ndef g(): yield 1", "(yield  from x)");
}

/* Letters that the interpreter takes for those of harmful names. */
TEST(letters_that_are_others)
{
        NOT_PLAIN("\xef\xbd\x8fpen('x')", "op\xe1\xb5\x89n('x')", "\xf0\x9d\x93\xb8pen('x')",
                  "e\xe2\x82\x93"
                  "ec('1')",
                  "_\xef\xbc\xbf"
                  "del__ = 1",
                  "\xef\xb8\xb3_del__ = 1", "impor\xef\xbd\x94 os", "\xc7\x86", "\xc4\xb3", "\xc2\xaa",
                  "hel\xe2\x84\x99()", "lo\xc5\xbf", "open\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x98",
                  "\xef\xbb\xbfprint(1)", "import j\xc5\xbfon",
                  "import json\njson\xef\xbc\x8e"
                  "codecs");
        PLAIN("open\xc3\xa9 = 1", "import json\njson\xc3\xa9 = 1"); /* names of their own */
}

TEST(what_says_how_it_is_encoded)
{
        NOT_PLAIN("# coding: utf-7\n+AG8-pen('x')", "# -*- coding: latin-1 -*-",
                  "#!x\n# vim: fileencoding=cp1252", "\x0c# coding=utf-7", "'a'.encode(encoding='x')");
        PLAIN("# coding this", "coding = 1");
}

TEST(a_nul_ends_nothing)
{
        CHECK_INT(plain_code("print(1)\0open('x')", 18), 0);
        CHECK_INT(plain_code("print(1)\0", 9), 0);
        CHECK_INT(plain_code("print(1)", 8), 1);
}

/* Whatever is put before or behind harmful code, between lines, it stays that. */
TEST(nothing_hides_what_is_harmful)
{
        static const char *const around[] = {
                "'''", "\"\"\"", "'",  "\"", "#", "\\", "f'{",  "f\"{x['", "}'",        "(", ")",
                "\n",  "\r\n",   "\r", ";",  ":", "\t", "\x0c", "r'\\'",   "\xc3\xa9 ", "1", " "};
        static const char *const harmful[] = {"\nopen('x')\n",          "\nimport os\n",
                                              "\nx.__globals__\n",      "\nf(eval)\n",
                                              "\nimport json;x=json\n", "\nclass A(metaclass=M): pass\n"};
        const size_t n = sizeof around / sizeof *around;
        char code[200];
        for (size_t i = 0; i < n * n * n; i++)
                for (size_t k = 0; k < sizeof harmful / sizeof *harmful; k++) {
                        snprintf(code, sizeof code, "%s%s%s%s", around[i % n], around[i / n % n], harmful[k],
                                 around[i / n / n]);
                        if (is_plain(code) && test_fail(__FILE__, __LINE__))
                                printf("plain: %s\n", code);
                }
}

static double microseconds(const char *code, int times)
{
        struct timespec from, to;
        int sum = 0;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        for (int i = 0; i < times; i++)
                sum += is_plain(code);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        CHECK(sum >= 0);
        return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / 1e3 / times;
}

static char *repeat(const char *text, size_t length)
{
        const size_t one = strlen(text);
        char *all = malloc(length + 1);
        for (size_t i = 0; all && i < length; i++)
                all[i] = text[i % one];
        if (all)
                all[length] = '\0';
        return all;
}

/* Twice as much takes about twice as long, whatever it is. */
TEST(time_is_linear)
{
        static const char *const texts[] = {"x",
                                            " ",
                                            "_",
                                            "json ",
                                            "a ",
                                            "class ",
                                            "import ",
                                            "from ",
                                            "from a import ",
                                            "type(",
                                            ".",
                                            "class A(",
                                            "from json import dumps,",
                                            "import json,",
                                            "total = total + value * 2  # the sum\n",
                                            "\xc3\xa9",
                                            "json.dumps "};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                char *part = repeat(texts[i], 2000), *most = repeat(texts[i], 16000);
                const double few = microseconds(part, 200), many = microseconds(most, 50);
                if (many > few * 8 * 4 + 100 && test_fail(__FILE__, __LINE__))
                        printf("%s: %.1f us, eight times as much %.1f us\n", texts[i], few, many);
                free(part);
                free(most);
        }
}

TEST(very_long_code_is_not_looked_at)
{
        char *code = repeat("x = 1\n", 1 << 20);
        CHECK_INT(is_plain(code), 0);
        free(code);
        code = repeat("x = 1\n", 12000);
        CHECK_INT(is_plain(code), 1);
        free(code);
}
