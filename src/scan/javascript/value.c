/* scan/javascript/value.c -- evaluates JavaScript expressions. */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "scan/escape.h"
#include "scan/javascript/javascript.h"

#define PIECES_MAX 64

/* ---- arguments ---- */

void javascript_arguments(struct program *p, TSNode call, struct arguments *ret)
{
        TSNode list = source_child(p->source, call, FIELD_ARGUMENTS);
        *ret = (struct arguments){0};
        if (ts_node_is_null(list))
                return;
        if (source_kind(p->source, list) == JS_TEMPLATE) { /* f`text` */
                ret->positional[ret->n++] = list;
                return;
        }
        ret->n = source_children(p->source, list, ret->positional, ARGUMENTS_MAX);
        ret->other = ret->n == ARGUMENTS_MAX;
        for (size_t i = 0; i < ret->n; i++)
                if (source_kind(p->source, ret->positional[i]) == JS_SPREAD) {
                        ret->n = i;
                        ret->other = true;
                }
}

/* ---- literals ---- */

static void javascript_piece(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        TSNode inner;
        char plain[16];
        size_t len;
        const char *text = source_text(p->source, node, &len);
        *ret = (struct values){0};
        switch (source_kind(p->source, node)) {
        case JS_FRAGMENT:
                values_add(ret, &(struct value){.kind = VALUE_TEXT, .text = text, .len = (uint32_t)len});
                break;
        case JS_ESCAPE:
                if (len <= sizeof plain)
                        values_add_text(ret, &p->arena, VALUE_TEXT, plain,
                                        escape_decode(ESCAPES_JAVASCRIPT, text, len, plain));
                break;
        case JS_SUBSTITUTION:
                if (source_children(p->source, node, &inner, 1) == 1)
                        program_evaluate(p, inner, scope, ret);
                break;
        default:
                break;
        }
        if (ret->n == 0)
                ret->other = true;
}

void javascript_string(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        TSNode pieces[PIECES_MAX];
        struct values whole = {0}, part;
        size_t n = source_children(p->source, node, pieces, PIECES_MAX);
        for (size_t i = 0; i < n; i++) {
                javascript_piece(p, pieces[i], scope, &part);
                if (i == 0)
                        whole = part;
                else
                        values_append(&whole, &p->arena, JOIN_CONCAT, &part);
        }
        if (n == 0)
                values_add(&whole, &(struct value){.kind = VALUE_TEXT, .text = ""});
        if (n == PIECES_MAX)
                whole.other = true;
        values_add_all(ret, &whole);
}

/* ---- names ---- */

static bool javascript_is(const char *text, size_t len, const char *word)
{
        return strlen(word) == len && !memcmp(text, word, len);
}

void javascript_add_module(struct program *p, const char *name, size_t len, struct values *ret)
{
        static const char *const like_fs[] = {"fs-extra", "graceful-fs", "fs/promises"};
        if (len > 5 && !memcmp(name, "node:", 5)) {
                name += 5;
                len -= 5;
        }
        for (size_t i = 0; i < ARRAY_LEN(like_fs); i++)
                if (javascript_is(name, len, like_fs[i])) {
                        name = "fs";
                        len = 2;
                }
        char *copy = len <= 200 ? arena_alloc(&p->arena, len + 1) : NULL;
        for (size_t i = 0; copy && i < len; i++)
                copy[i] = (char)(name[i] == '/' && name[0] != '.' && name[0] != '/' ? '.' : name[i]);
        if (copy)
                values_add(ret, &(struct value){.kind = VALUE_NAME, .text = copy, .len = (uint32_t)len});
        else
                ret->other = true;
}

/* Adds a member of a named object. Indirect names are resolved: builtins.eval is eval, random._os is os,
 * os.system.__call__ is os.system. */
void javascript_add_member(struct program *p, const struct value *object, const char *member, size_t len,
                           struct values *ret)
{
        static const char *const globals[] = {"globalThis", "global", "window", "self", "GLOBAL", "root"};
        if (object->kind != VALUE_NAME || len == 0) {
                ret->other = true;
                return;
        }
        for (size_t i = 0; i < ARRAY_LEN(globals); i++)
                if (value_is_name(object, globals[i])) {
                        values_add_text(ret, &p->arena, VALUE_NAME, member, len);
                        return;
                }
        bool fs = object->len >= 2 && !memcmp(object->text, "fs", 2) &&
                  (object->len == 2 || object->text[2] == '.');
        bool sync = len > 4 && !memcmp(member + len - 4, "Sync", 4) &&
                    (fs || value_is_name(object, "child_process") || value_is_name(object, "zlib"));
        if (javascript_is(member, len, "require"))
                values_add_text(ret, &p->arena, VALUE_NAME, "require", 7); /* module.require and so on */
        else if (javascript_is(member, len, "default") || javascript_is(member, len, "call") ||
                 javascript_is(member, len, "apply") || javascript_is(member, len, "bind") ||
                 (fs && javascript_is(member, len, "promises")))
                values_add(ret, object);
        else
                values_add_member(ret, &p->arena, object, member, sync ? len - 4 : len);
}

static void member(struct program *p, TSNode node, const struct values *objects, struct values *ret)
{
        size_t len;
        const char *name = source_text(p->source, source_child(p->source, node, FIELD_PROPERTY), &len);
        ret->other = objects->other;
        /* The object is unknown: this name alone is enough. */
        if (objects->other && javascript_is(name, len, "require"))
                values_add_text(ret, &p->arena, VALUE_NAME, "require", 7);
        for (unsigned i = 0; i < objects->n; i++)
                javascript_add_member(p, &objects->v[i], name, len, ret);
}

static void javascript_subscript(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        struct values objects, names;
        program_evaluate(p, source_child(p->source, node, FIELD_OBJECT), scope, &objects);
        program_evaluate(p, source_child(p->source, node, FIELD_INDEX), scope, &names);
        if (objects.n == 1 && objects.v[0].kind == VALUE_LIST && names.n == 1 &&
            names.v[0].kind == VALUE_NUMBER)
                program_element(p, &objects.v[0], &names.v[0], ret);
        else
                program_members(p, &objects, &names, ret);
}

/* ---- operators ---- */

static void javascript_binary(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        TSNode sign = source_child(p->source, node, FIELD_OPERATOR);
        struct values left, part;
        if (ts_node_is_null(sign)) {
                ret->other = true;
                return;
        }
        if (source_is(p->source, sign, "||") || source_is(p->source, sign, "&&") ||
            source_is(p->source, sign, "??")) {
                program_evaluate(p, source_child(p->source, node, FIELD_LEFT), scope, ret);
                program_evaluate(p, source_child(p->source, node, FIELD_RIGHT), scope, &part);
                values_add_all(ret, &part);
                return;
        }
        if (!source_is(p->source, sign, "+")) {
                program_evaluate(p, source_child(p->source, node, FIELD_LEFT), scope, &left);
                program_evaluate(p, source_child(p->source, node, FIELD_RIGHT), scope, &part);
                if (values_are_number(&left) && values_are_number(&part))
                        values_add(ret, &(struct value){.kind = VALUE_NUMBER});
                else
                        ret->other = true;
                return;
        }
        program_sum(p, node, JS_BINARY, scope, NULL, ret);
}

/* ---- calls ---- */

static void characters(struct program *p, const struct arguments *arguments, uint32_t scope,
                       struct values *ret)
{
        char text[ARGUMENTS_MAX];
        struct values number;
        for (size_t i = 0; i < arguments->n; i++) {
                program_evaluate(p, arguments->positional[i], scope, &number);
                unsigned long c = values_are_number(&number) && number.v[0].text
                                          ? strtoul(number.v[0].text, NULL, 0)
                                          : 0;
                if (c == 0 || c > 127)
                        goto unknown;
                text[i] = (char)c;
        }
        if (!arguments->other && arguments->n > 0) {
                values_add_text(ret, &p->arena, VALUE_TEXT, text, arguments->n);
                return;
        }
unknown:
        values_add(ret, &(struct value){.kind = VALUE_BYTES, .decoded = true});
}

static void call_known(struct program *p, const struct known *known, const struct arguments *arguments,
                       uint32_t scope, struct values *ret)
{
        struct values first, second;
        enum transform transform = TRANSFORM_NONE;
        if (program_call(p, known, arguments, scope, ret))
                return;
        program_argument(p, arguments, 0, NULL, scope, &first);
        switch (known->result) {
        case RESULT_MODULE:
                ret->other |= first.other;
                for (unsigned i = 0; i < first.n; i++) {
                        if (first.v[i].kind == VALUE_TEXT && first.v[i].text)
                                javascript_add_module(p, first.v[i].text, first.v[i].len, ret);
                        else
                                ret->other = true;
                }
                break;
        case RESULT_REQUIRE:
                values_add_text(ret, &p->arena, VALUE_NAME, "require", 7);
                break;
        case RESULT_CHARACTERS:
                characters(p, arguments, scope, ret);
                break;
        case RESULT_CODEC:
                if (program_argument(p, arguments, 1, NULL, scope, &second) && second.n > 0 &&
                    second.v[0].text)
                        transform =
                                javascript_is(second.v[0].text, second.v[0].len, "base64") ? TRANSFORM_BASE64
                                : javascript_is(second.v[0].text, second.v[0].len, "base64url")
                                        ? TRANSFORM_BASE64
                                : javascript_is(second.v[0].text, second.v[0].len, "hex") ? TRANSFORM_HEX
                                                                                          : TRANSFORM_NONE;
                if (first.n > 0 && first.v[0].kind == VALUE_LIST)
                        transform = TRANSFORM_DECODE; /* bytes, one by one */
                values_transform(ret, &p->arena, transform, &first);
                break;
        case RESULT_TEMPORARY:
                values_add(ret, &(struct value){.kind = VALUE_TEXT, .text = "/tmp", .len = 4});
                break;
        case RESULT_HERE:
                values_add(ret, &(struct value){.kind = VALUE_TEXT, .text = ".", .len = 1});
                break;
        case RESULT_HOME:
                values_add(ret, &(struct value){.kind = VALUE_TEXT, .text = "~", .len = 1});
                break;
        default:
                ret->other = true;
        }
}

/* Evaluates a method of a text or a list.  Returns false if the object is neither. */
static bool call_text_method(struct program *p, TSNode function, const struct values *object,
                             const struct arguments *arguments, uint32_t scope, struct values *ret)
{
        struct values first;
        TSNode name = source_child(p->source, function, FIELD_PROPERTY);
        if (object->n == 0 || object->v[0].kind == VALUE_NAME)
                return false;
        program_argument(p, arguments, 0, NULL, scope, &first);
        if (source_is(p->source, name, "concat") && object->v[0].kind == VALUE_TEXT)
                values_join(ret, &p->arena, JOIN_CONCAT, object, &first);
        else if (source_is(p->source, name, "join") && object->v[0].kind == VALUE_LIST)
                program_join(p, &object->v[0], &first, ret);
        else if (source_is(p->source, name, "toString") || source_is(p->source, name, "valueOf"))
                values_add_all(ret, object);
        else if (source_is(p->source, name, "trim"))
                values_transform(ret, &p->arena, TRANSFORM_STRIP, object);
        else if (source_is(p->source, name, "toLowerCase"))
                values_transform(ret, &p->arena, TRANSFORM_LOWER, object);
        else if (source_is(p->source, name, "toUpperCase"))
                values_transform(ret, &p->arena, TRANSFORM_UPPER, object);
        else /* split, reverse, replace, map, …: assembled from parts */
                values_transform(ret, &p->arena, TRANSFORM_DECODE, object);
        return true;
}

static void javascript_call(struct program *p, TSNode node, TSNode function, uint32_t scope,
                            struct values *ret)
{
        struct arguments arguments;
        struct values callee, object;
        javascript_arguments(p, node, &arguments);
        if (source_kind(p->source, function) == JS_MEMBER) {
                /* Only once: in a().b().c() each object would otherwise be evaluated twice at every level. */
                program_evaluate(p, source_child(p->source, function, FIELD_OBJECT), scope, &object);
                if (call_text_method(p, function, &object, &arguments, scope, ret))
                        return;
                values_clear(&callee);
                member(p, function, &object, &callee);
                callee.other |= callee.n == 0;
        } else {
                program_evaluate(p, function, scope, &callee);
        }
        ret->other = callee.other;
        for (unsigned i = 0; i < callee.n; i++) {
                const struct value *v = &callee.v[i];
                const struct known *known = v->kind == VALUE_NAME ? javascript_known(v->text, v->len) : NULL;
                if (known && known->result != RESULT_UNKNOWN)
                        call_known(p, known, &arguments, scope, ret);
                else
                        ret->other = true;
        }
}

/* ---- all expressions ---- */

static void last_child(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        uint32_t n = ts_node_named_child_count(node);
        if (n > 0 && n < 1000)
                program_evaluate(p, ts_node_named_child(node, n - 1), scope, ret);
}

void javascript_evaluate(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        TSNode children[3];
        struct values values;
        size_t len, n;
        const char *text = source_text(p->source, node, &len);
        switch (source_kind(p->source, node)) {
        case JS_IDENTIFIER:
        case JS_SHORTHAND:
                if (javascript_is(text, len, "__dirname"))
                        values_add(ret, &(struct value){.kind = VALUE_TEXT, .text = ".", .len = 1});
                else
                        program_lookup(p, node, scope, ret);
                break;
        case JS_IMPORT:
                values_add(ret, &(struct value){.kind = VALUE_NAME, .text = "import", .len = 6});
                break;
        case JS_STRING:
        case JS_TEMPLATE:
                javascript_string(p, node, scope, ret);
                break;
        case JS_NUMBER:
                values_add_text(ret, &p->arena, VALUE_NUMBER, text, len);
                break;
        case JS_ARRAY:
                values_add(ret, &(struct value){.kind = VALUE_LIST, .node = node, .scope = scope});
                break;
        case JS_MEMBER:
                program_evaluate(p, source_child(p->source, node, FIELD_OBJECT), scope, &values);
                member(p, node, &values, ret);
                break;
        case JS_SUBSCRIPT:
                javascript_subscript(p, node, scope, ret);
                break;
        case JS_CALL:
                javascript_call(p, node, source_child(p->source, node, FIELD_FUNCTION), scope, ret);
                break;
        case JS_NEW:
                javascript_call(p, node, source_child(p->source, node, FIELD_CONSTRUCTOR), scope, ret);
                break;
        case JS_BINARY:
                javascript_binary(p, node, scope, ret);
                break;
        case JS_ASSIGNMENT:
                program_evaluate(p, source_child(p->source, node, FIELD_RIGHT), scope, ret);
                break;
        case JS_PARENTHESIZED:
        case JS_AWAIT:
                if (source_children(p->source, node, children, 1) == 1)
                        program_evaluate(p, children[0], scope, ret);
                break;
        case JS_SEQUENCE:
                last_child(p, node, scope, ret);
                break;
        case JS_TERNARY:
                n = source_children(p->source, node, children, 3);
                if (n == 3) {
                        program_evaluate(p, children[1], scope, ret);
                        program_evaluate(p, children[2], scope, &values);
                        values_add_all(ret, &values);
                }
                break;
        default:
                ret->other = true;
        }
}
