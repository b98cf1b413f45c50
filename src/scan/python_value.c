/* scan/python_value.c -- what a Python expression may be. */
#include <stdlib.h>
#include <string.h>

#include "scan/python.h"

#define OPERANDS_MAX 512

/* ---- arguments of a call ---- */

void python_arguments(struct program *p, TSNode call, struct python_arguments *ret)
{
        TSNode list = source_child(p->source, call, FIELD_ARGUMENTS), children[PYTHON_ARGUMENTS_MAX];
        *ret = (struct python_arguments){0};
        if (ts_node_is_null(list))
                return;
        if (source_kind(p->source, list) != PY_ARGUMENT_LIST) { /* f(x for x in y) */
                ret->positional[ret->n++] = list;
                return;
        }
        size_t n = source_children(p->source, list, children, PYTHON_ARGUMENTS_MAX);
        ret->other = n == PYTHON_ARGUMENTS_MAX;
        for (size_t i = 0; i < n; i++) {
                switch (source_kind(p->source, children[i])) {
                case PY_KEYWORD_ARGUMENT:
                        ret->named[ret->n_named].name = source_child(p->source, children[i], FIELD_NAME);
                        ret->named[ret->n_named++].value = source_child(p->source, children[i], FIELD_VALUE);
                        break;
                case PY_LIST_SPLAT:
                case PY_DICTIONARY_SPLAT:
                        ret->other = true;
                        break;
                default:
                        /* What follows *args has no known position. */
                        if (!ret->other)
                                ret->positional[ret->n++] = children[i];
                }
        }
}

bool python_argument(struct program *p, const struct python_arguments *arguments, size_t position,
                     const char *name, uint32_t scope, struct values *ret)
{
        *ret = (struct values){.other = true};
        if (position < arguments->n) {
                program_evaluate(p, arguments->positional[position], scope, ret);
                return true;
        }
        for (size_t i = 0; name && i < arguments->n_named; i++)
                if (source_is(p->source, arguments->named[i].name, name)) {
                        program_evaluate(p, arguments->named[i].value, scope, ret);
                        return true;
                }
        return arguments->other;
}

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

/* A member of something that has a name.  Ways around are straightened here: builtins.eval is eval,
 * random._os is os, os.system.__call__ is os.system. */
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
                values_add_text(ret, &p->arena, VALUE_PATH, path->text, slash > path->text ? (size_t)(slash - path->text) : 1);
}

/* Members that are constants, and those of paths. */
static bool special_attribute(struct program *p, const struct value *object, const char *name, size_t len,
                              struct values *ret)
{
        static const struct {
                const char *name, *member, *value;
        } constants[] = {{"os", "sep", "/"}, {"os.path", "sep", "/"}, {"os", "devnull", "/dev/null"},
                         {"os", "curdir", "."}, {"os", "pardir", ".."}};
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
        else if (len == 6 && !memcmp(name, "parent", 6) && object->text && !memmem(object->text, object->len, "..", 2))
                add_parent(p, object, ret);
        else
                values_add(ret, &(struct value){.kind = VALUE_PATH});
        return true;
}

static void attribute(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        struct values objects;
        size_t len;
        const char *name = source_text(p->source, source_child(p->source, node, FIELD_ATTRIBUTE), &len);
        program_evaluate(p, source_child(p->source, node, FIELD_OBJECT), scope, &objects);
        ret->other = objects.other;
        for (unsigned i = 0; i < objects.n; i++)
                if (!special_attribute(p, &objects.v[i], name, len, ret))
                        python_add_member(p, &objects.v[i], name, len, ret);
}

static bool is_reversing_slice(struct program *p, TSNode node)
{
        size_t len;
        const char *text = source_text(p->source, node, &len);
        return len >= 4 && !memcmp(text, "::", 2) && !memcmp(text + len - 2, "-1", 2);
}

static void element(struct program *p, const struct value *list, const struct value *index, struct values *ret)
{
        TSNode children[32];
        struct values values;
        size_t n = source_children(p->source, list->node, children, 32),
               i = index->text ? (size_t)strtoul(index->text, NULL, 10) : n;
        if (i < n)
                program_evaluate(p, children[i], list->scope, &values);
        else
                values = (struct values){.other = true};
        values_add_all(ret, &values);
}

static void subscript_one(struct program *p, const struct value *object, const struct value *index,
                          struct values *ret)
{
        struct values found = {0};
        bool text = index->kind == VALUE_TEXT && index->text;
        if (object->kind == VALUE_LIST && index->kind == VALUE_NUMBER)
                element(p, object, index, ret);
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

static void subscript(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        struct values objects, indexes;
        TSNode index = source_child(p->source, node, FIELD_SUBSCRIPT);
        program_evaluate(p, source_child(p->source, node, FIELD_VALUE), scope, &objects);
        if (!ts_node_is_null(index) && source_kind(p->source, index) == PY_SLICE) {
                values_transform(ret, &p->arena,
                                 is_reversing_slice(p, index) ? TRANSFORM_REVERSE : TRANSFORM_DECODE, &objects);
                return;
        }
        program_evaluate(p, index, scope, &indexes);
        ret->other = objects.other || indexes.other;
        for (unsigned i = 0; i < objects.n; i++)
                for (unsigned k = 0; k < indexes.n; k++)
                        subscript_one(p, &objects.v[i], &indexes.v[k], ret);
}

/* ---- operators ---- */

static void add_numbers(struct program *p, const struct values *left, const struct values *right,
                        struct values *ret)
{
        char digits[24];
        const struct value *a = &left->v[0], *b = &right->v[0];
        if (!a->text || !b->text) {
                values_add(ret, &(struct value){.kind = VALUE_NUMBER});
                return;
        }
        int n = snprintf(digits, sizeof digits, "%lld", strtoll(a->text, NULL, 0) / 2 + strtoll(b->text, NULL, 0) / 2 +
                                                               strtoll(a->text, NULL, 0) % 2 + strtoll(b->text, NULL, 0) % 2);
        values_add_text(ret, &p->arena, VALUE_NUMBER, digits, (size_t)n);
}

static bool is_number(const struct values *values)
{
        return values->n == 1 && values->v[0].kind == VALUE_NUMBER && !values->other;
}

/* a + b + c + … leans to the left as far as the text goes on: not by recursion. */
static void sum(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        TSNode operands[OPERANDS_MAX], operator;
        struct values whole, part, joined;
        size_t n = 0;
        while (n < OPERANDS_MAX && source_kind(p->source, node) == PY_BINARY &&
               (operator= source_child(p->source, node, FIELD_OPERATOR), !ts_node_is_null(operator)) &&
               source_is(p->source, operator, "+")) {
                operands[n++] = source_child(p->source, node, FIELD_RIGHT);
                node = source_child(p->source, node, FIELD_LEFT);
        }
        program_evaluate(p, node, scope, &whole);
        while (n > 0) {
                program_evaluate(p, operands[--n], scope, &part);
                joined = (struct values){0};
                if (is_number(&whole) && is_number(&part))
                        add_numbers(p, &whole, &part, &joined);
                else
                        values_join(&joined, &p->arena, JOIN_CONCAT, &whole, &part);
                whole = joined;
        }
        values_add_all(ret, &whole);
}

/* "…%s…" % x, with one argument or a tuple: each %s or %d is replaced in turn. */
static void format(struct program *p, const struct values *of, const char *mark, const TSNode *arguments,
                   size_t n, uint32_t scope, struct values *ret)
{
        struct values whole = {0}, part, joined;
        const struct value *v = &of->v[0];
        size_t used = 0, width = strlen(mark);
        if (of->n != 1 || of->other || v->kind != VALUE_TEXT) {
                ret->other = true;
                return;
        }
        values_add(&whole, &(struct value){.kind = VALUE_TEXT, .text = ""});
        for (size_t i = 0, from = 0; i <= v->len; i++) {
                bool end = i == v->len, here = !end && v->len - i >= width && !memcmp(v->text + i, mark, width);
                if (!end && !here && (v->text[i] == '%' || v->text[i] == '{') && v->text[i] == mark[0]) {
                        ret->other = true; /* some other way to format */
                        return;
                }
                if (!end && !here)
                        continue;
                part = (struct values){0};
                values_add_text(&part, &p->arena, VALUE_TEXT, v->text + from, i - from);
                joined = (struct values){0};
                values_join(&joined, &p->arena, JOIN_CONCAT, &whole, &part);
                whole = joined;
                if (here) {
                        part = (struct values){.other = true};
                        if (used < n)
                                program_evaluate(p, arguments[used++], scope, &part);
                        joined = (struct values){0};
                        values_join(&joined, &p->arena, JOIN_CONCAT, &whole, &part);
                        whole = joined;
                        i += width - 1;
                        from = i + 1;
                }
        }
        values_add_all(ret, &whole);
}

static void binary(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        struct values left, right;
        TSNode operator= source_child(p->source, node, FIELD_OPERATOR), arguments[PYTHON_ARGUMENTS_MAX];
        if (ts_node_is_null(operator)) {
                ret->other = true;
        } else if (source_is(p->source, operator, "+")) {
                sum(p, node, scope, ret);
        } else if (source_is(p->source, operator, "/")) {
                program_evaluate(p, source_child(p->source, node, FIELD_LEFT), scope, &left);
                program_evaluate(p, source_child(p->source, node, FIELD_RIGHT), scope, &right);
                if (is_number(&left) && is_number(&right))
                        values_add(ret, &(struct value){.kind = VALUE_NUMBER});
                else
                        values_join(ret, &p->arena, JOIN_PATH, &left, &right);
        } else if (source_is(p->source, operator, "%")) {
                TSNode of = source_child(p->source, node, FIELD_RIGHT);
                size_t n = 1;
                arguments[0] = of;
                program_evaluate(p, source_child(p->source, node, FIELD_LEFT), scope, &left);
                if (source_kind(p->source, of) == PY_TUPLE)
                        n = source_children(p->source, of, arguments, PYTHON_ARGUMENTS_MAX);
                format(p, &left, "%s", arguments, n, scope, ret);
        } else if (source_is(p->source, operator, "-") || source_is(p->source, operator, "*") ||
                   source_is(p->source, operator, "//")) {
                program_evaluate(p, source_child(p->source, node, FIELD_LEFT), scope, &left);
                program_evaluate(p, source_child(p->source, node, FIELD_RIGHT), scope, &right);
                if (is_number(&left) && is_number(&right))
                        values_add(ret, &(struct value){.kind = VALUE_NUMBER});
                else
                        ret->other = true;
        } else {
                ret->other = true;
        }
}

/* ---- calls ---- */

/* Characters by their numbers: chr(111), bytes([111, 115]), String.fromCharCode. */
static void add_characters(struct program *p, const struct value *of, struct values *ret)
{
        char text[512];
        size_t used = 0;
        TSNode children[128];
        struct values number;
        if (of->kind == VALUE_TEXT) {
                values_add(ret, of);
                return;
        }
        if (of->kind == VALUE_NUMBER && of->text) {
                unsigned long c = strtoul(of->text, NULL, 0);
                text[0] = (char)c;
                if (c > 0 && c < 128)
                        values_add_text(ret, &p->arena, VALUE_TEXT, text, 1);
                else
                        ret->other = true;
                return;
        }
        size_t n = of->kind == VALUE_LIST ? source_children(p->source, of->node, children, 128) : 128;
        for (size_t i = 0; i < n && n < 128; i++) {
                program_evaluate(p, children[i], of->scope, &number);
                if (!is_number(&number) || !number.v[0].text) {
                        n = 128;
                        break;
                }
                text[used++] = (char)strtoul(number.v[0].text, NULL, 0);
        }
        if (n < 128) {
                const char *copy = program_copy(p, text, used);
                if (copy)
                        values_add(ret, &(struct value){
                                                .kind = VALUE_TEXT, .text = copy, .len = (uint32_t)used, .decoded = true});
        } else {
                values_add(ret, &(struct value){.kind = VALUE_BYTES, .decoded = true});
        }
}

static void codec(struct program *p, const struct values *of, const struct values *how, struct values *ret)
{
        enum transform transform = TRANSFORM_DECODE;
        const struct value *v = &how->v[0];
        if (how->n == 1 && v->kind == VALUE_TEXT && v->text) {
                if (v->len >= 5 && !memcmp(v->text, "rot", 3))
                        transform = TRANSFORM_ROT13;
                else if (v->len >= 3 && !memcmp(v->text, "hex", 3))
                        transform = TRANSFORM_HEX;
                else if (v->len >= 6 && !memcmp(v->text, "base64", 6))
                        transform = TRANSFORM_BASE64;
                else if (v->len >= 3 && (!memcmp(v->text, "utf", 3) || !memcmp(v->text, "asc", 3) ||
                                         !memcmp(v->text, "lat", 3)))
                        transform = TRANSFORM_NONE;
        }
        values_transform(ret, &p->arena, transform, of);
}

/* The result of calling something that has a name. */
static void call_known(struct program *p, const struct known *known, const struct python_arguments *arguments,
                       uint32_t scope, struct values *ret)
{
        struct values first, second, joined;
        size_t top;
        python_argument(p, arguments, 0, NULL, scope, &first);
        switch (known->result) {
        case RESULT_MODULE:
        case RESULT_TOP_MODULE:
                ret->other |= first.other;
                for (unsigned i = 0; i < first.n; i++) {
                        if (first.v[i].kind != VALUE_TEXT || !first.v[i].text) {
                                ret->other = true;
                                continue;
                        }
                        top = first.v[i].len;
                        const char *dot = memchr(first.v[i].text, '.', top);
                        if (known->result == RESULT_TOP_MODULE && dot && arguments->n < 4)
                                top = (size_t)(dot - first.v[i].text);
                        add_name(p, ret, first.v[i].text, top);
                }
                break;
        case RESULT_MEMBER:
                python_argument(p, arguments, 1, "name", scope, &second);
                ret->other |= first.other || second.other;
                for (unsigned i = 0; i < first.n; i++)
                        for (unsigned k = 0; k < second.n; k++)
                                if (second.v[k].kind == VALUE_TEXT && second.v[k].text)
                                        python_add_member(p, &first.v[i], second.v[k].text, second.v[k].len, ret);
                break;
        case RESULT_SAME:
                values_add_all(ret, &first);
                break;
        case RESULT_CHARACTERS:
                if (first.other)
                        values_add(ret, &(struct value){.kind = VALUE_BYTES, .decoded = true});
                for (unsigned i = 0; i < first.n; i++)
                        add_characters(p, &first.v[i], ret);
                break;
        case RESULT_BASE64:
                values_transform(ret, &p->arena, TRANSFORM_BASE64, &first);
                break;
        case RESULT_HEX:
                values_transform(ret, &p->arena, TRANSFORM_HEX, &first);
                break;
        case RESULT_CODEC:
                python_argument(p, arguments, 1, "encoding", scope, &second);
                codec(p, &first, &second, ret);
                break;
        case RESULT_DECODED:
                values_transform(ret, &p->arena, TRANSFORM_DECODE, &first);
                break;
        case RESULT_REVERSED:
                values_transform(ret, &p->arena, TRANSFORM_REVERSE, &first);
                break;
        case RESULT_PATH:
                if (arguments->n == 0)
                        values_add_text(&first, &p->arena, VALUE_TEXT, ".", 1);
                first.other = arguments->n > 0 && first.other;
                /* fall through */
        case RESULT_JOINED_PATH:
                for (size_t i = 1; i < arguments->n; i++) {
                        joined = (struct values){0};
                        python_argument(p, arguments, i, NULL, scope, &second);
                        values_join(&joined, &p->arena, JOIN_PATH, &first, &second);
                        first = joined;
                }
                ret->other |= known->result == RESULT_JOINED_PATH && (first.other || arguments->other);
                for (unsigned i = 0; i < first.n; i++) {
                        if (known->result == RESULT_PATH)
                                first.v[i].kind = VALUE_PATH;
                        values_add(ret, &first.v[i]);
                }
                if (known->result == RESULT_PATH && (first.other || arguments->other))
                        values_add(ret, &(struct value){.kind = VALUE_PATH});
                break;
        case RESULT_TEMPORARY:
                values_add(ret, &(struct value){.kind = VALUE_PATH, .text = "/tmp/tmp", .len = 8});
                break;
        case RESULT_HERE:
                values_add(ret, &(struct value){.kind = VALUE_PATH, .text = ".", .len = 1});
                break;
        case RESULT_HOME:
                values_add(ret, &(struct value){.kind = VALUE_PATH, .text = "~", .len = 1});
                break;
        case RESULT_NUMBER:
                values_add(ret, &(struct value){.kind = VALUE_NUMBER});
                break;
        case RESULT_MEMBERS:
                ret->other |= first.other;
                for (unsigned i = 0; i < first.n; i++)
                        if (first.v[i].kind == VALUE_NAME)
                                values_add_member(ret, &p->arena, &first.v[i], "__dict__", 8);
                if (arguments->n == 0)
                        add_name(p, ret, "globals()", 9);
                break;
        case RESULT_GLOBALS:
                add_name(p, ret, "globals()", 9);
                break;
        default:
                ret->other = true;
        }
}

/* A list of texts, one behind the other: ''.join(['o', 's']). */
static void join_list(struct program *p, const struct values *glue, const struct value *list,
                      struct values *ret)
{
        TSNode children[64];
        struct values whole = {0}, part, joined;
        size_t n = source_children(p->source, list->node, children, 64);
        values_add(&whole, &(struct value){.kind = VALUE_TEXT, .text = ""});
        for (size_t i = 0; i < n; i++) {
                if (i > 0 && !(glue->n == 1 && glue->v[0].len == 0)) {
                        joined = (struct values){0};
                        values_join(&joined, &p->arena, JOIN_CONCAT, &whole, glue);
                        whole = joined;
                }
                program_evaluate(p, children[i], list->scope, &part);
                joined = (struct values){0};
                values_join(&joined, &p->arena, JOIN_CONCAT, &whole, &part);
                whole = joined;
        }
        if (n == 64)
                whole.other = true;
        values_add_all(ret, &whole);
}

/* join() of something that is computed: if chr is in there, characters are put together to hide them. */
static void join_computed(struct program *p, TSNode argument, struct values *ret)
{
        size_t len;
        const char *text = source_text(p->source, argument, &len);
        bool hides = memmem(text, len < 4096 ? len : 4096, "chr", 3) != NULL;
        if (hides)
                values_add(ret, &(struct value){.kind = VALUE_BYTES, .decoded = true});
        else
                ret->other = true;
}

static void replace(struct program *p, const struct values *of, const struct values *from,
                    const struct values *to, struct values *ret)
{
        const struct value *v = &of->v[0], *a = &from->v[0], *b = &to->v[0];
        bool known = of->n == 1 && from->n == 1 && to->n == 1 && v->kind == VALUE_TEXT && v->text &&
                     a->kind == VALUE_TEXT && a->len > 0 && b->kind == VALUE_TEXT && v->len < 4096 && b->len < 16;
        char *text = known ? arena_alloc(&p->arena, (size_t)v->len * 16 + 1) : NULL;
        size_t used = 0;
        if (!text) {
                values_transform(ret, &p->arena, TRANSFORM_DECODE, of);
                return;
        }
        for (size_t i = 0; i < v->len;) {
                if (v->len - i >= a->len && !memcmp(v->text + i, a->text, a->len)) {
                        memcpy(text + used, b->text, b->len);
                        used += b->len;
                        i += a->len;
                } else {
                        text[used++] = v->text[i++];
                }
        }
        values_add(ret, &(struct value){
                                .kind = VALUE_TEXT, .text = text, .len = (uint32_t)used, .decoded = v->decoded});
}

/* A method of a text.  Returns false if the object is none. */
static bool call_text_method(struct program *p, TSNode function, const struct python_arguments *arguments,
                             uint32_t scope, struct values *ret)
{
        struct values object, first, second;
        TSNode name = source_child(p->source, function, FIELD_ATTRIBUTE);
        program_evaluate(p, source_child(p->source, function, FIELD_OBJECT), scope, &object);
        enum value_kind kind = object.n > 0 ? object.v[0].kind : VALUE_NAME;
        if (kind != VALUE_TEXT && kind != VALUE_BYTES && kind != VALUE_PATH)
                return false;
        python_argument(p, arguments, 0, NULL, scope, &first);
        if (kind == VALUE_PATH) {
                if (source_is(p->source, name, "joinpath"))
                        values_join(ret, &p->arena, JOIN_PATH, &object, &first);
                else if (source_is(p->source, name, "resolve") || source_is(p->source, name, "absolute") ||
                         source_is(p->source, name, "expanduser") || source_is(p->source, name, "as_posix"))
                        values_add_all(ret, &object);
                else if (source_is(p->source, name, "with_suffix") || source_is(p->source, name, "with_name"))
                        values_add_all(ret, &object);
                else
                        ret->other = true;
        } else if (source_is(p->source, name, "join")) {
                ret->other |= first.other && first.n > 0;
                for (unsigned i = 0; i < first.n; i++) {
                        if (first.v[i].kind == VALUE_LIST)
                                join_list(p, &object, &first.v[i], ret);
                        else
                                values_add(ret, &first.v[i]); /* a reversed text, say */
                }
                if (first.n == 0 && arguments->n > 0)
                        join_computed(p, arguments->positional[0], ret);
        } else if (source_is(p->source, name, "decode") || source_is(p->source, name, "encode")) {
                if (arguments->n == 0)
                        values_add_all(ret, &object);
                else
                        codec(p, &object, &first, ret);
        } else if (source_is(p->source, name, "lower") || source_is(p->source, name, "casefold")) {
                values_transform(ret, &p->arena, TRANSFORM_LOWER, &object);
        } else if (source_is(p->source, name, "upper")) {
                values_transform(ret, &p->arena, TRANSFORM_UPPER, &object);
        } else if (source_is(p->source, name, "strip") && arguments->n == 0) {
                values_transform(ret, &p->arena, TRANSFORM_STRIP, &object);
        } else if (source_is(p->source, name, "replace")) {
                python_argument(p, arguments, 1, NULL, scope, &second);
                replace(p, &object, &first, &second, ret);
        } else if (source_is(p->source, name, "format")) {
                format(p, &object, "{}", arguments->positional, arguments->n, scope, ret);
        } else {
                values_transform(ret, &p->arena, TRANSFORM_DECODE, &object);
        }
        return true;
}

/* operator.attrgetter('system')(os) */
static bool call_getter(struct program *p, TSNode function, const struct python_arguments *arguments,
                        uint32_t scope, struct values *ret)
{
        struct values getter, member, object;
        struct python_arguments inner;
        if (source_kind(p->source, function) != PY_CALL)
                return false;
        program_evaluate(p, source_child(p->source, function, FIELD_FUNCTION), scope, &getter);
        if (getter.n != 1 || !value_is_name(&getter.v[0], "operator.attrgetter"))
                return false;
        python_arguments(p, function, &inner);
        python_argument(p, &inner, 0, NULL, scope, &member);
        python_argument(p, arguments, 0, NULL, scope, &object);
        ret->other = member.other || object.other;
        for (unsigned i = 0; i < object.n; i++)
                for (unsigned k = 0; k < member.n; k++)
                        if (member.v[k].kind == VALUE_TEXT && member.v[k].text)
                                python_add_member(p, &object.v[i], member.v[k].text, member.v[k].len, ret);
        return true;
}

static TSNode without_parentheses(struct program *p, TSNode node)
{
        for (int i = 0; i < 16 && source_kind(p->source, node) == PY_PARENTHESIZED; i++)
                if (source_children(p->source, node, &node, 1) == 0)
                        break;
        return node;
}

static void call(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        struct python_arguments arguments;
        struct values callee;
        TSNode function = source_child(p->source, node, FIELD_FUNCTION);
        if (ts_node_is_null(function)) {
                ret->other = true;
                return;
        }
        function = without_parentheses(p, function);
        python_arguments(p, node, &arguments);
        if (source_kind(p->source, function) == PY_LAMBDA) { /* called at once: what it returns */
                program_evaluate(p, source_child(p->source, function, FIELD_BODY), scope, ret);
                return;
        }
        if (source_kind(p->source, function) == PY_ATTRIBUTE &&
            call_text_method(p, function, &arguments, scope, ret))
                return;
        if (call_getter(p, function, &arguments, scope, ret))
                return;
        program_evaluate(p, function, scope, &callee);
        ret->other = callee.other;
        for (unsigned i = 0; i < callee.n; i++) {
                const struct value *v = &callee.v[i];
                const struct known *known =
                        v->kind == VALUE_NAME ? python_known(v->text, v->len) : NULL;
                if (known && known->result != RESULT_UNKNOWN)
                        call_known(p, known, &arguments, scope, ret);
                else
                        ret->other = true;
        }
}

/* ---- everything ---- */

static void dictionary_value(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        (void)p;
        values_add(ret, &(struct value){.kind = VALUE_LIST, .node = node, .scope = scope});
}

static void both(struct program *p, TSNode a, TSNode b, uint32_t scope, struct values *ret)
{
        struct values values;
        program_evaluate(p, a, scope, ret);
        program_evaluate(p, b, scope, &values);
        values_add_all(ret, &values);
}

void python_evaluate(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
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
                dictionary_value(p, node, scope, ret);
                break;
        case PY_ATTRIBUTE:
                attribute(p, node, scope, ret);
                break;
        case PY_SUBSCRIPT:
                subscript(p, node, scope, ret);
                break;
        case PY_CALL:
                call(p, node, scope, ret);
                break;
        case PY_BINARY:
                binary(p, node, scope, ret);
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
                both(p, source_child(p->source, node, FIELD_LEFT), source_child(p->source, node, FIELD_RIGHT), scope,
                     ret);
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
