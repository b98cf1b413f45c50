/* scan/python/value.c -- evaluates Python expressions. */
#include <stdlib.h>
#include <string.h>

#include "scan/python/python.h"

/* ---- members ---- */

static void add_name(struct program *p, struct values *ret, const char *text, size_t len)
{
        values_add_text(ret, &p->arena, VALUE_NAME, text, len);
}

static bool ends_with(const struct value *value, const char *end)
{
        size_t n = strlen(end);
        return value->len > n && !strcmp(value->text + value->len - n, end);
}

/* Adds a member of a named object. Indirect names are resolved: builtins.eval is eval, random._os is os,
 * os.system.__call__ is os.system. */
void python_add_member(struct program *p, const struct value *object, const char *member, size_t len,
                       struct values *ret)
{
        struct value of = *object;
        size_t skip = len > 1 && member[0] == '_' && python_is_root(member + 1, len - 1) ? 1 : 0;
        if (of.kind != VALUE_NAME || len == 0) {
                ret->other = true;
                return;
        }
        if (ends_with(&of, ".__dict__"))
                of.text = program_copy(p, of.text, of.len -= (uint32_t)strlen(".__dict__"));
        if (!of.text)
                ret->other = true;
        else if (value_is_name(&of, "builtins") || value_is_name(&of, "__builtins__"))
                add_name(p, ret, member, len);
        else if (value_is_name(&of, "posix"))
                values_add_member(ret, &p->arena, &(struct value){.text = "os", .len = 2}, member, len);
        else if (len == 8 && !memcmp(member, "__call__", 8))
                values_add(ret, &of);
        else if (python_is_root(member + skip, len - skip) && !value_is_name(&of, "asyncio"))
                add_name(p, ret, member + skip, len - skip);
        else
                values_add_member(ret, &p->arena, &of, member, len);
}

static void add_parent(struct program *p, const struct value *path, struct values *ret)
{
        const char *slash = memrchr(path->text, '/', path->len);
        if (!slash)
                values_add_text(ret, &p->arena, VALUE_PATH, ".", 1);
        else
                values_add_text(ret, &p->arena, VALUE_PATH, path->text,
                                slash > path->text ? (size_t)(slash - path->text) : 1);
}

/* Constant members, and members of paths. */
static bool special_attribute(struct program *p, const struct value *object, const char *name, size_t len,
                              struct values *ret)
{
        static const struct {
                const char *name, *member, *value;
        } constants[] = {{"os", "sep", "/"},
                         {"os.path", "sep", "/"},
                         {"os", "devnull", "/dev/null"},
                         {"os", "curdir", "."},
                         {"os", "pardir", ".."}};
        for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
                if (value_is_name(object, constants[i].name) && strlen(constants[i].member) == len &&
                    !memcmp(constants[i].member, name, len)) {
                        values_add_text(ret, &p->arena, VALUE_TEXT, constants[i].value,
                                        strlen(constants[i].value));
                        return true;
                }
        if (object->kind != VALUE_PATH)
                return false;
        if (len == 4 && !memcmp(name, "name", 4) && object->text) /* of a temporary file, mostly */
                values_add(ret, object);
        else if (len == 6 && !memcmp(name, "parent", 6) && object->text &&
                 !memmem(object->text, object->len, "..", 2))
                add_parent(p, object, ret);
        else
                values_add(ret, &(struct value){.kind = VALUE_PATH});
        return true;
}

void python_attribute(struct program *p, TSNode node, const struct values *objects, struct values *ret)
{
        size_t len;
        const char *name = source_text(p->source, source_child(p->source, node, FIELD_ATTRIBUTE), &len);
        ret->other = objects->other;
        for (unsigned i = 0; i < objects->n; i++)
                if (!special_attribute(p, &objects->v[i], name, len, ret))
                        python_add_member(p, &objects->v[i], name, len, ret);
}

static bool is_reversing_slice(struct program *p, TSNode node)
{
        size_t len;
        const char *text = source_text(p->source, node, &len);
        return len >= 4 && !memcmp(text, "::", 2) && !memcmp(text + len - 2, "-1", 2);
}

static void subscript_one(struct program *p, const struct value *object, const struct value *index,
                          struct values *ret)
{
        struct values found = {0};
        bool text = index->kind == VALUE_TEXT && index->text;
        if (object->kind == VALUE_LIST && index->kind == VALUE_NUMBER)
                program_element(p, object, index, ret);
        else if (value_is_name(object, "sys.modules") && text)
                add_name(p, ret, index->text, index->len);
        else if (value_is_name(object, "globals()") && text) {
                program_lookup_global(p, index->text, index->len, &found);
                values_add_all(ret, &found);
        } else if (object->kind == VALUE_NAME && text &&
                   (ends_with(object, ".__dict__") || value_is_name(object, "__builtins__")))
                python_add_member(p, object, index->text, index->len, ret);
        else
                ret->other = true;
}

static void python_subscript(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        struct values objects, indexes;
        TSNode index = source_child(p->source, node, FIELD_SUBSCRIPT);
        program_evaluate(p, source_child(p->source, node, FIELD_VALUE), scope, &objects);
        if (!ts_node_is_null(index) && source_kind(p->source, index) == PY_SLICE) {
                values_transform(ret, &p->arena,
                                 is_reversing_slice(p, index) ? TRANSFORM_REVERSE : TRANSFORM_DECODE,
                                 &objects);
                return;
        }
        program_evaluate(p, index, scope, &indexes);
        ret->other = objects.other || indexes.other;
        for (unsigned i = 0; i < objects.n; i++)
                for (unsigned k = 0; k < indexes.n; k++)
                        subscript_one(p, &objects.v[i], &indexes.v[k], ret);
}

/* ---- operators ---- */

static void add_number(struct program *p, struct values *left, const struct values *right)
{
        char digits[24];
        const struct value *a = &left->v[0], *b = &right->v[0];
        if (!a->text || !b->text) {
                *left = (struct values){.n = 1, .v[0].kind = VALUE_NUMBER};
                return;
        }
        int n = snprintf(digits, sizeof digits, "%lld",
                         strtoll(a->text, NULL, 0) / 2 + strtoll(b->text, NULL, 0) / 2 +
                                 strtoll(a->text, NULL, 0) % 2 + strtoll(b->text, NULL, 0) % 2);
        values_clear(left);
        values_add_text(left, &p->arena, VALUE_NUMBER, digits, (size_t)n);
}

/* "…%s…" % x, with one argument or a tuple: each %s or %d is replaced in turn. */
void python_format(struct program *p, const struct values *of, const char *mark, const TSNode *arguments,
                   size_t n, uint32_t scope, struct values *ret)
{
        struct values whole = {0}, part;
        const struct value *v = &of->v[0];
        size_t used = 0, width = strlen(mark);
        if (of->n != 1 || of->other || v->kind != VALUE_TEXT) {
                ret->other = true;
                return;
        }
        values_add(&whole, &(struct value){.kind = VALUE_TEXT, .text = ""});
        for (size_t i = 0, from = 0; i <= v->len; i++) {
                bool end = i == v->len,
                     here = !end && v->len - i >= width && !memcmp(v->text + i, mark, width);
                if (!end && !here && (v->text[i] == '%' || v->text[i] == '{') && v->text[i] == mark[0]) {
                        ret->other = true; /* another kind of format */
                        return;
                }
                if (!end && !here)
                        continue;
                part = (struct values){0};
                values_add_text(&part, &p->arena, VALUE_TEXT, v->text + from, i - from);
                values_append(&whole, &p->arena, JOIN_CONCAT, &part);
                if (here) {
                        part = (struct values){.other = true};
                        if (used < n)
                                program_evaluate(p, arguments[used++], scope, &part);
                        values_append(&whole, &p->arena, JOIN_CONCAT, &part);
                        i += width - 1;
                        from = i + 1;
                }
        }
        values_add_all(ret, &whole);
}

static void python_binary(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        struct values left, right;
        TSNode sign = source_child(p->source, node, FIELD_OPERATOR),
               of = source_child(p->source, node, FIELD_RIGHT), arguments[ARGUMENTS_MAX] = {of};
        size_t n = 1;
        if (ts_node_is_null(sign) || ts_node_is_null(of)) {
                ret->other = true;
                return;
        }
        if (source_is(p->source, sign, "+")) {
                program_sum(p, node, PY_BINARY, scope, add_number, ret);
                return;
        }
        program_evaluate(p, source_child(p->source, node, FIELD_LEFT), scope, &left);
        if (source_is(p->source, sign, "%") && !values_are_number(&left)) {
                if (source_kind(p->source, of) == PY_TUPLE)
                        n = source_children(p->source, of, arguments, ARGUMENTS_MAX);
                python_format(p, &left, "%s", arguments, n, scope, ret);
                return;
        }
        program_evaluate(p, of, scope, &right);
        if (values_are_number(&left) && values_are_number(&right))
                values_add(ret, &(struct value){.kind = VALUE_NUMBER});
        else if (source_is(p->source, sign, "/"))
                values_join(ret, &p->arena, JOIN_PATH, &left, &right);
        else
                ret->other = true;
}

/* ---- all expressions ---- */

static void both(struct program *p, TSNode a, TSNode b, uint32_t scope, struct values *ret)
{
        struct values values;
        program_evaluate(p, a, scope, ret);
        program_evaluate(p, b, scope, &values);
        values_add_all(ret, &values);
}

void python_evaluate(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        struct values values;
        TSNode children[3];
        size_t len, n;
        const char *text;
        switch (source_kind(p->source, node)) {
        case PY_IDENTIFIER:
                program_lookup(p, node, scope, ret);
                break;
        case PY_STRING:
        case PY_CONCATENATED_STRING:
                python_string(p, node, scope, ret);
                break;
        case PY_INTEGER:
                text = source_text(p->source, node, &len);
                values_add_text(ret, &p->arena, VALUE_NUMBER, text, len);
                break;
        case PY_FLOAT:
        case PY_UNARY:
                values_add(ret, &(struct value){.kind = VALUE_NUMBER});
                break;
        case PY_LIST:
        case PY_TUPLE:
        case PY_SET:
                values_add(ret, &(struct value){.kind = VALUE_LIST, .node = node, .scope = scope});
                break;
        case PY_ATTRIBUTE:
                program_evaluate(p, source_child(p->source, node, FIELD_OBJECT), scope, &values);
                python_attribute(p, node, &values, ret);
                break;
        case PY_SUBSCRIPT:
                python_subscript(p, node, scope, ret);
                break;
        case PY_CALL:
                python_call(p, node, scope, ret);
                break;
        case PY_BINARY:
                python_binary(p, node, scope, ret);
                break;
        case PY_NAMED_EXPRESSION:
                program_evaluate(p, source_child(p->source, node, FIELD_VALUE), scope, ret);
                break;
        case PY_PARENTHESIZED:
        case PY_AWAIT:
        case PY_AS_PATTERN:
                if (source_children(p->source, node, children, 1) == 1)
                        program_evaluate(p, children[0], scope, ret);
                break;
        case PY_BOOLEAN:
                both(p, source_child(p->source, node, FIELD_LEFT), source_child(p->source, node, FIELD_RIGHT),
                     scope, ret);
                break;
        case PY_CONDITIONAL:
                n = source_children(p->source, node, children, 3);
                if (n == 3)
                        both(p, children[0], children[2], scope, ret);
                break;
        default:
                ret->other = true;
        }
}
