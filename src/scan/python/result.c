/* scan/python/result.c -- evaluates calls. */
#include <stdlib.h>
#include <string.h>

#include "scan/python/python.h"

/* ---- arguments of a call ---- */

void python_arguments(struct program *p, TSNode call, struct arguments *ret)
{
        TSNode list = source_child(p->source, call, FIELD_ARGUMENTS), children[ARGUMENTS_MAX];
        *ret = (struct arguments){0};
        if (ts_node_is_null(list))
                return;
        if (source_kind(p->source, list) != PY_ARGUMENT_LIST) { /* f(x for x in y) */
                ret->positional[ret->n++] = list;
                return;
        }
        size_t n = source_children(p->source, list, children, ARGUMENTS_MAX);
        ret->other = n == ARGUMENTS_MAX;
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
                        /* Arguments after *args have no known position. */
                        if (!ret->other)
                                ret->positional[ret->n++] = children[i];
                }
        }
}

/* ---- functions ---- */

/* Characters given by their codes: chr(111), bytes([111, 115]), String.fromCharCode. */
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
                if (!values_are_number(&number) || !number.v[0].text) {
                        n = 128;
                        break;
                }
                text[used++] = (char)strtoul(number.v[0].text, NULL, 0);
        }
        if (n < 128) {
                const char *copy = program_copy(p, text, used);
                if (copy)
                        values_add(ret, &(struct value){.kind = VALUE_TEXT,
                                                        .text = copy,
                                                        .len = (uint32_t)used,
                                                        .decoded = true});
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

/* import_module("a.b") is a.b; __import__("a.b") is a, unless fromlist is given. */
static void add_modules(struct program *p, const struct values *names, bool only_top, struct values *ret)
{
        ret->other |= names->other;
        for (unsigned i = 0; i < names->n; i++) {
                const struct value *name = &names->v[i];
                if (name->kind != VALUE_TEXT || !name->text) {
                        ret->other = true;
                        continue;
                }
                const char *dot = only_top ? memchr(name->text, '.', name->len) : NULL;
                values_add_text(ret, &p->arena, VALUE_NAME, name->text,
                                dot ? (size_t)(dot - name->text) : name->len);
        }
}

static void add_path(struct program *p, const struct arguments *arguments, uint32_t scope,
                     struct values *first, struct values *ret)
{
        const struct known joined = {.result = RESULT_JOINED_PATH};

        values_clear(first);
        if (arguments->n == 0)
                values_add_text(first, &p->arena, VALUE_TEXT, ".", 1);
        else
                program_call(p, &joined, arguments, scope, first);
        first->other |= arguments->other;
        for (unsigned i = 0; i < first->n; i++) {
                first->v[i].kind = VALUE_PATH;
                values_add(ret, &first->v[i]);
        }
        if (first->other)
                values_add(ret, &(struct value){.kind = VALUE_PATH});
}

/* Evaluates a call of a known name. */
static void call_known(struct program *p, const struct known *known, const struct arguments *arguments,
                       uint32_t scope, struct values *ret)
{
        struct values first, second;
        if (program_call(p, known, arguments, scope, ret))
                return;
        program_argument(p, arguments, 0, NULL, scope, &first);
        switch (known->result) {
        case RESULT_MODULE:
        case RESULT_TOP_MODULE:
                add_modules(p, &first, known->result == RESULT_TOP_MODULE && arguments->n < 4, ret);
                break;
        case RESULT_CHARACTERS:
                if (first.other)
                        values_add(ret, &(struct value){.kind = VALUE_BYTES, .decoded = true});
                for (unsigned i = 0; i < first.n; i++)
                        add_characters(p, &first.v[i], ret);
                break;
        case RESULT_CODEC:
                program_argument(p, arguments, 1, "encoding", scope, &second);
                codec(p, &first, &second, ret);
                break;
        case RESULT_PATH:
                add_path(p, arguments, scope, &first, ret);
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
        case RESULT_MEMBERS:
                ret->other |= first.other;
                for (unsigned i = 0; i < first.n; i++)
                        if (first.v[i].kind == VALUE_NAME)
                                values_add_member(ret, &p->arena, &first.v[i], "__dict__", 8);
                if (arguments->n == 0)
                        values_add_text(ret, &p->arena, VALUE_NAME, "globals()", 9);
                break;
        case RESULT_GLOBALS:
                values_add_text(ret, &p->arena, VALUE_NAME, "globals()", 9);
                break;
        default:
                ret->other = true;
        }
}

/* join() of a computed list: with chr it assembles hidden text. */
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
                     a->kind == VALUE_TEXT && a->len > 0 && b->kind == VALUE_TEXT && v->len < 4096 &&
                     b->len < 16;
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
        values_add(ret,
                   &(struct value){
                           .kind = VALUE_TEXT, .text = text, .len = (uint32_t)used, .decoded = v->decoded});
}

/* Evaluates a method of a string. Returns false if the object is not a string. */
static bool call_text_method(struct program *p, TSNode function, const struct values *object,
                             const struct arguments *arguments, uint32_t scope, struct values *ret)
{
        struct values first, second;
        TSNode name = source_child(p->source, function, FIELD_ATTRIBUTE);
        enum value_kind kind = object->n > 0 ? object->v[0].kind : VALUE_NAME;
        if (kind != VALUE_TEXT && kind != VALUE_BYTES && kind != VALUE_PATH)
                return false;
        program_argument(p, arguments, 0, NULL, scope, &first);
        if (kind == VALUE_PATH) {
                if (source_is(p->source, name, "joinpath"))
                        values_join(ret, &p->arena, JOIN_PATH, object, &first);
                else if (source_is(p->source, name, "resolve") || source_is(p->source, name, "absolute") ||
                         source_is(p->source, name, "expanduser") || source_is(p->source, name, "as_posix") ||
                         source_is(p->source, name, "with_suffix") || source_is(p->source, name, "with_name"))
                        values_add_all(ret, object);
                else
                        ret->other = true;
        } else if (source_is(p->source, name, "join")) {
                ret->other |= first.other && first.n > 0;
                for (unsigned i = 0; i < first.n; i++) {
                        if (first.v[i].kind == VALUE_LIST)
                                program_join(p, &first.v[i], object, ret);
                        else
                                values_add(ret, &first.v[i]); /* for example a reversed string */
                }
                if (first.n == 0 && arguments->n > 0)
                        join_computed(p, arguments->positional[0], ret);
        } else if (source_is(p->source, name, "decode") || source_is(p->source, name, "encode")) {
                if (arguments->n == 0)
                        values_add_all(ret, object);
                else
                        codec(p, object, &first, ret);
        } else if (source_is(p->source, name, "lower") || source_is(p->source, name, "casefold")) {
                values_transform(ret, &p->arena, TRANSFORM_LOWER, object);
        } else if (source_is(p->source, name, "upper")) {
                values_transform(ret, &p->arena, TRANSFORM_UPPER, object);
        } else if (source_is(p->source, name, "strip") && arguments->n == 0) {
                values_transform(ret, &p->arena, TRANSFORM_STRIP, object);
        } else if (source_is(p->source, name, "replace")) {
                program_argument(p, arguments, 1, NULL, scope, &second);
                replace(p, object, &first, &second, ret);
        } else if (source_is(p->source, name, "format")) {
                python_format(p, object, "{}", arguments->positional, arguments->n, scope, ret);
        } else {
                values_transform(ret, &p->arena, TRANSFORM_DECODE, object);
        }
        return true;
}

/* operator.attrgetter('system')(os) */
static bool call_getter(struct program *p, TSNode function, const struct arguments *arguments, uint32_t scope,
                        struct values *ret)
{
        struct values getter, member, object;
        struct arguments inner;
        if (source_kind(p->source, function) != PY_CALL)
                return false;
        /* Not for f()()(): each call would be evaluated twice at every level. */
        TSNode callee = source_child(p->source, function, FIELD_FUNCTION);
        if (source_kind(p->source, callee) == PY_CALL &&
            source_kind(p->source, source_child(p->source, callee, FIELD_FUNCTION)) == PY_CALL)
                return false;
        program_evaluate(p, callee, scope, &getter);
        if (getter.n != 1 || !value_is_name(&getter.v[0], "operator.attrgetter"))
                return false;
        python_arguments(p, function, &inner);
        program_argument(p, &inner, 0, NULL, scope, &member);
        program_argument(p, arguments, 0, NULL, scope, &object);
        program_members(p, &object, &member, ret);
        return true;
}

static TSNode without_parentheses(struct program *p, TSNode node)
{
        for (int i = 0; i < 16 && source_kind(p->source, node) == PY_PARENTHESIZED; i++)
                if (source_children(p->source, node, &node, 1) == 0)
                        break;
        return node;
}

void python_call(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        struct arguments arguments;
        struct values callee, object;
        TSNode function = source_child(p->source, node, FIELD_FUNCTION);
        if (ts_node_is_null(function)) {
                ret->other = true;
                return;
        }
        function = without_parentheses(p, function);
        python_arguments(p, node, &arguments);
        if (source_kind(p->source, function) == PY_LAMBDA) { /* called immediately: its result */
                program_evaluate(p, source_child(p->source, function, FIELD_BODY), scope, ret);
                return;
        }
        if (source_kind(p->source, function) == PY_ATTRIBUTE) {
                /* Only once: in a().b().c() each object would otherwise be evaluated twice at every level. */
                program_evaluate(p, source_child(p->source, function, FIELD_OBJECT), scope, &object);
                if (call_text_method(p, function, &object, &arguments, scope, ret))
                        return;
                values_clear(&callee);
                python_attribute(p, function, &object, &callee);
                callee.other |= callee.n == 0;
        } else if (call_getter(p, function, &arguments, scope, ret)) {
                return;
        } else {
                program_evaluate(p, function, scope, &callee);
        }
        ret->other = callee.other;
        for (unsigned i = 0; i < callee.n; i++) {
                const struct value *v = &callee.v[i];
                const struct known *known = v->kind == VALUE_NAME ? python_known(v->text, v->len) : NULL;
                if (known && known->result != RESULT_UNKNOWN)
                        call_known(p, known, &arguments, scope, ret);
                else
                        ret->other = true;
        }
}
