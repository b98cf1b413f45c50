/* scan/python/limit.c -- checks in addition to imports when there is a list of allowed imports.
 *
 * A module can be reached without an import: through attributes of the interpreter
 * (random.__builtins__["__import__"], object.__subclasses__(), f.__globals__), through functions that take
 * code or names as strings (eval, getattr, globals), and through modules that contain others (sys.modules).
 * With a list these names are refused everywhere, unless the text itself binds the name.
 *
 * This is a policy for code that is written in good faith, not a security boundary: the effects of an allowed
 * module itself are not checked (doc/scanner.md). */
#include <string.h>

#include "base/auto.h"
#include "base/utf8.h"
#include "scan/check.h"
#include "scan/python/python.h"

static bool is_in(const char *const *list, size_t n, const char *name, size_t len)
{
        return names_list_has(list, n, name, len);
}

static bool is_dunder(const char *name, size_t len)
{
        return len > 4 && !memcmp(name, "__", 2) && !memcmp(name + len - 2, "__", 2);
}

/* Special names that code may use, without the underscores on both sides: facts about an object, … */
static const char *const harmless_facts[] = {
        "all",  "annotations", "author", "cause", "class",    "context", "dataclass_fields", "doc",    "file",
        "main", "members",     "module", "name",  "qualname", "slots",   "traceback",        "version"};

/* … and methods that classes define, and call on their base class. */
static const char *const harmless_methods[] = {"abs",           "add",       "aenter",  "aexit",
                                               "aiter",         "and",       "anext",   "await",
                                               "bool",          "bytes",     "call",    "ceil",
                                               "complex",       "contains",  "copy",    "deepcopy",
                                               "del",           "delattr",   "delitem", "divmod",
                                               "enter",         "eq",        "exit",    "float",
                                               "floor",         "floordiv",  "format",  "ge",
                                               "getitem",       "gt",        "hash",    "iadd",
                                               "iand",          "ifloordiv", "ilshift", "imod",
                                               "imul",          "index",     "init",    "init_subclass",
                                               "instancecheck", "int",       "invert",  "ior",
                                               "ipow",          "irshift",   "isub",    "iter",
                                               "itruediv",      "ixor",      "le",      "len",
                                               "length_hint",   "lshift",    "lt",      "matmul",
                                               "missing",       "mod",       "mul",     "ne",
                                               "neg",           "new",       "next",    "or",
                                               "pos",           "post_init", "pow",     "radd",
                                               "rand",          "rdivmod",   "repr",    "reversed",
                                               "rfloordiv",     "rlshift",   "rmatmul", "rmod",
                                               "rmul",          "ror",       "round",   "rpow",
                                               "rrshift",       "rshift",    "rsub",    "rtruediv",
                                               "rxor",          "set_name",  "setattr", "setitem",
                                               "sizeof",        "str",       "sub",     "truediv",
                                               "trunc",         "xor"};

static bool is_harmless_dunder(const char *name, size_t len)
{
        return is_in(harmless_facts, ARRAY_LEN(harmless_facts), name + 2, len - 4) ||
               is_in(harmless_methods, ARRAY_LEN(harmless_methods), name + 2, len - 4);
}

/* Characters that Python normalises to ASCII in a name (NFKC). */
static bool folds(uint32_t c)
{
        static const struct {
                uint32_t from, to;
        } ranges[] = {{0xaa, 0xaa},       {0xba, 0xba},       {0x132, 0x133},    {0x13f, 0x140},
                      {0x149, 0x149},     {0x17f, 0x17f},     {0x1c4, 0x1cc},    {0x1f1, 0x1f3},
                      {0x2b0, 0x2b8},     {0x2e0, 0x2e4},     {0x1d2c, 0x1d6a},  {0x1d78, 0x1d78},
                      {0x1d9b, 0x1dbf},   {0x1e9a, 0x1e9b},   {0x2070, 0x209c},  {0x2100, 0x218b},
                      {0x2460, 0x24ff},   {0x2c7c, 0x2c7d},   {0x3250, 0x33ff},  {0xa69c, 0xa69d},
                      {0xa770, 0xa770},   {0xa7f2, 0xa7f9},   {0xab5c, 0xab69},  {0xfb00, 0xfb06},
                      {0xfe33, 0xfe34},   {0xfe4d, 0xfe4f},   {0xff01, 0xff5e},  {0x10780, 0x107ba},
                      {0x1d400, 0x1d7ff}, {0x1f100, 0x1f1ff}, {0x1fbf0, 0x1fbf9}};
        for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
                if (c >= ranges[i].from && c <= ranges[i].to)
                        return true;
        return false;
}

static bool name_folds(const char *name, size_t len)
{
        for (size_t i = 0, n; i < len; i += n) {
                n = utf8_len(name + i, len - i);
                if (n == 0)
                        return true;
                if (n > 1 && folds(utf8_get(name + i, n)))
                        return true;
        }
        return false;
}

static bool is_refused_attribute(const char *name, size_t len)
{
        return python_is_inner(name, len) || (is_dunder(name, len) && !is_harmless_dunder(name, len));
}

static void python_limit_refuse(struct program *p, TSNode node)
{
        check_say(p, RULE_CONSTRUCT_NOT_ALLOWED, node);
}

/* ---- names ---- */

bool python_is_refused(const char *name, size_t len)
{
        static const char *const refused[] = {
                "__build_class__", "__builtins__", "__import__", "__loader__", "__spec__",
                "breakpoint",      "compile",      "eval",       "exec",       "execfile",
                "getattr",         "globals",      "locals",     "reload",     "vars"};
        return is_in(refused, ARRAY_LEN(refused), name, len);
}

/* The innermost statement that contains the node. */
static TSNode statement_of(const struct program *p, TSNode node)
{
        for (TSNode above = ts_node_parent(node); !ts_node_is_null(above); above = ts_node_parent(above)) {
                const unsigned kind = source_kind(p->source, above);
                if (kind == PY_MODULE || kind == PY_BLOCK)
                        break;
                node = above;
        }
        return node;
}

/* eval = eval: the value on the right side cannot be determined from the bindings. */
static bool binds_itself(const struct program *p, const struct mention *m, const char *name, size_t len)
{
        const TSNode statement = statement_of(p, m->node);
        const uint32_t from = ts_node_start_byte(statement), to = ts_node_end_byte(statement);
        for (uint32_t i = 0; i < p->bound_size; i++) {
                const struct bound *bound = &p->bound[i];
                const struct name *of = bound->first ? &p->names[bound->name - 1] : NULL;
                if (!of || of->len != len || memcmp(of->text, name, len) != 0)
                        continue;
                for (uint32_t b = bound->first; b; b = p->bindings[b].next)
                        if (p->bindings[b].position >= from && p->bindings[b].position < to)
                                return true;
        }
        return false;
}

static void limit_name(struct program *p, const struct mention *m)
{
        struct values values;
        size_t len;
        const char *name = source_text(p->source, m->node, &len);
        if (name_folds(name, len)) {
                python_limit_refuse(p, m->node);
                return;
        }
        /* from a import *: a may have imported it. */
        if (p->n_stars > 0 && python_is_root(name, len))
                python_check_import(p, m->node, name, len);
        if (!python_is_refused(name, len))
                return;
        if (binds_itself(p, m, name, len)) {
                python_limit_refuse(p, m->node);
                return;
        }
        program_lookup(p, m->node, m->scope, &values);
        for (unsigned i = 0; i < values.n; i++)
                if (values.v[i].kind == VALUE_NAME && values.v[i].len == len &&
                    !memcmp(values.v[i].text, name, len)) {
                        python_limit_refuse(p, m->node);
                        return;
                }
}

/* ---- attributes ---- */

/* "os.system" if the list has only os.path: import os.path binds os. */
static bool is_beside_list(const struct program *p, const struct value *v)
{
        const struct scan_rules *rules = p->rules;
        const size_t top = strcspn(v->text, ".");
        bool below = false;
        if (names_cover(rules->allowed_imports, rules->n_allowed_imports, v->text, v->len, "."))
                return false;
        for (size_t i = 0; i < rules->n_allowed_imports; i++) {
                const char *entry = rules->allowed_imports[i];
                const size_t len = strlen(entry);
                below |= len > top && !memcmp(entry, v->text, top) && entry[top] == '.';
                if (len > v->len && !memcmp(entry, v->text, v->len) && entry[v->len] == '.')
                        return false; /* a prefix of an allowed module */
        }
        return below;
}

/* json.codecs: not a module in a package, and not an attribute of a class, which has two dots. */
static bool is_borrowed(const struct value *v)
{
        const char *dot = memchr(v->text, '.', v->len);
        return dot && python_is_borrowed(v->text, (size_t)(dot - v->text), dot + 1,
                                         v->len - (size_t)(dot + 1 - v->text));
}

/* By the full name. */
static bool holds_modules(const char *name, size_t len)
{
        static const char *const names[] = {"sys._current_frames", "sys._getframe",
                                            "sys.meta_path",       "sys.modules",
                                            "sys.path_hooks",      "sys.path_importer_cache"};
        return is_in(names, ARRAY_LEN(names), name, len);
}

/* x.y.NAME of an unknown object.  Returns whether that decides it. */
static bool limit_member(struct program *p, TSNode node, const char *name, size_t len)
{
        static const char *const modules[] = {"builtins", "ctypes",     "importlib",
                                              "posix",    "subprocess", "sys"};
        const size_t skip = len > 1 && name[0] == '_';
        if (is_refused_attribute(name, len) || name_folds(name, len))
                python_limit_refuse(p, node);
        else if ((skip && python_is_root(name + 1, len - 1)) || is_in(modules, ARRAY_LEN(modules), name, len))
                python_check_import(p, node, name + skip, len - skip);
        else
                return false;
        return true;
}

static void limit_attribute(struct program *p, const struct mention *m)
{
        struct values values;
        size_t len;
        const char *name = source_text(p->source, source_child(p->source, m->node, FIELD_ATTRIBUTE), &len);
        if (limit_member(p, m->node, name, len))
                return;
        const size_t skip = len > 1 && name[0] == '_';
        program_evaluate(p, m->node, m->scope, &values);
        for (unsigned i = 0; i < values.n; i++) {
                const struct value *v = &values.v[i];
                if (v->kind == VALUE_NAME && (holds_modules(v->text, v->len) || is_beside_list(p, v))) {
                        python_limit_refuse(p, m->node);
                        return;
                }
                if (v->kind == VALUE_NAME && is_borrowed(v)) {
                        python_check_import(p, m->node, name + skip, len - skip);
                        return;
                }
        }
}

/* ---- strings ---- */

/* In a string only known dangerous names count: data may contain any names. */
static bool is_refused_in_text(const char *name, size_t len)
{
        static const char *const refused[] = {"__base__", "__bases__", "__dict__",
                                              "__func__", "__get__",   "__getattribute__",
                                              "__mro__",  "__self__",  "__wrapped__"};
        return python_is_inner(name, len) || is_in(refused, ARRAY_LEN(refused), name, len) ||
               (is_dunder(name, len) && python_is_refused(name, len));
}

/* Whether a string names a refused attribute: "__import__", "a.__globals__", "{0.__class__.__base__}". */
static bool names_refused(const char *text, size_t len)
{
        for (size_t i = 0; i < len;) {
                size_t n = 0;
                while (i + n < len && (text[i + n] == '_' || (text[i + n] >= '0' && text[i + n] <= '9') ||
                                       (text[i + n] >= 'a' && text[i + n] <= 'z') ||
                                       (text[i + n] >= 'A' && text[i + n] <= 'Z')))
                        n++;
                if (is_refused_in_text(text + i, n))
                        return true;
                i += n > 0 ? n : 1;
        }
        return false;
}

/* Prose may contain such names; names for lookups have no spaces. */
static void limit_text(struct program *p, TSNode node)
{
        size_t len;
        const char *text = source_text(p->source, node, &len);
        for (size_t i = 0; i < len; i++)
                if (text[i] == ' ' || text[i] == '\t' || text[i] == '\n')
                        return;
        if (names_refused(text, len))
                python_limit_refuse(p, node);
}

/* operator.attrgetter("a.b"): its argument must be constant and must not be a refused attribute. */
static void limit_call(struct program *p, const struct mention *m)
{
        static const char *const getters[] = {"operator.attrgetter", "operator.methodcaller"};
        struct arguments arguments;
        struct values callee, name;
        bool getter = false;
        program_evaluate(p, source_child(p->source, m->node, FIELD_FUNCTION), m->scope, &callee);
        for (unsigned i = 0; i < callee.n; i++)
                getter |= callee.v[i].kind == VALUE_NAME &&
                          is_in(getters, ARRAY_LEN(getters), callee.v[i].text, callee.v[i].len);
        if (!getter)
                return;
        python_arguments(p, m->node, &arguments);
        bool allowed = !arguments.other;
        for (size_t i = 0; i < arguments.n; i++) {
                program_evaluate(p, arguments.positional[i], m->scope, &name);
                allowed &= !name.other && name.n > 0;
                for (unsigned k = 0; k < name.n; k++)
                        allowed &= name.v[k].kind == VALUE_TEXT && name.v[k].text &&
                                   !names_refused(name.v[k].text, name.v[k].len);
        }
        if (!allowed)
                python_limit_refuse(p, m->node);
}

/* from random import __builtins__; from sys import modules */
static void limit_import_from(struct program *p, TSNode node)
{
        TSNode names[64], unused, module_node = source_child(p->source, node, FIELD_MODULE_NAME);
        const char *module = ts_node_is_null(module_node) ? NULL : python_dotted(p, module_node, &unused);
        const struct value of = {
                .kind = VALUE_NAME, .text = module, .len = module ? (uint32_t)strlen(module) : 0};
        size_t n = source_children(p->source, node, names, 64);
        for (size_t i = 0; i < n && module; i++) {
                const char *name = python_dotted(p, names[i], &unused);
                struct values full = {0};
                if (!name || ts_node_eq(names[i], module_node))
                        continue;
                const size_t len = strlen(name);
                values_add_member(&full, &p->arena, &of, name, len);
                if (is_refused_attribute(name, len) || name_folds(name, len) ||
                    (full.n > 0 && holds_modules(full.v[0].text, full.v[0].len))) {
                        python_limit_refuse(p, node);
                        return;
                }
        }
}

void python_limit(struct program *p, const struct mention *m)
{
        if (p->report->to->more && (p->report->to->verdict & SCAN_NOT_ALLOWED))
                return; /* already refused, and there is no room for more findings */
        switch (m->kind) {
        case PY_IDENTIFIER:
                if (m->parent == PY_KEYWORD_PATTERN) { /* case object(__globals__=x) reads an attribute */
                        size_t len;
                        const char *name = source_text(p->source, m->node, &len);
                        limit_member(p, m->node, name, len);
                } else {
                        limit_name(p, m);
                }
                break;
        case PY_ATTRIBUTE:
                limit_attribute(p, m);
                break;
        case PY_CALL:
                limit_call(p, m);
                break;
        case PY_STRING:
                limit_text(p, m->node);
                break;
        case PY_IMPORT_FROM:
                limit_import_from(p, m->node);
                break;
        default:
                break;
        }
}
