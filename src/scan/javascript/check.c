/* scan/javascript/check.c -- the second pass over a JavaScript text: checks imports, calls and uses of
 * names. */
#include <string.h>

#include "scan/check.h"
#include "scan/javascript/javascript.h"
#include "scan/place.h"

/* ---- imports ---- */

static void check_module(struct program *p, TSNode node, const char *name, size_t len)
{
        struct values module = {0};
        javascript_add_module(p, name, len, &module);
        if (module.n != 1) {
                check_not_constant(p, node);
                return;
        }
        const struct known *known = javascript_module(module.v[0].text, module.v[0].len);
        if (known)
                check_say(p, known->rule, node);
        if (!check_limited(p))
                return;
        const char *const *list = p->rules->allowed_imports;
        size_t n = p->rules->n_allowed_imports;
        bool good = names_cover(list, n, name, len, "/");
        if (!good && len > 5 && !memcmp(name, "node:", 5))
                good = names_cover(list, n, name + 5, len - 5, "/");
        if (!good)
                check_say(p, RULE_IMPORT_NOT_ALLOWED, node);
}

static void check_import(struct program *p, const struct mention *m)
{
        TSNode source = source_child(p->source, m->node, FIELD_SOURCE);
        struct values name;
        if (ts_node_is_null(source))
                return; /* an export of its own */
        program_evaluate(p, source, m->scope, &name);
        check_modules(p, m->node, &name, check_module);
}

/* ---- calls ---- */

/* exec('curl …') is a shell command line; spawn('curl', ['-s', url]) is one in pieces. */
static void check_command(struct program *p, const struct known *known, const struct arguments *arguments,
                          const struct mention *m)
{
        struct check_line line = {.len = 0};
        struct values command, list;
        check_say(p, RULE_PROCESS_CALL, m->node);
        program_argument(p, arguments, 0, NULL, m->scope, &command);
        for (unsigned i = 0; i < command.n && known->check == CHECK_SHELL; i++)
                if (command.v[i].kind == VALUE_TEXT && command.v[i].text)
                        program_inside(p, SCAN_BASH, command.v[i].text, command.v[i].len, m->node);
        if (known->check == CHECK_SHELL || command.n == 0 || command.v[0].kind != VALUE_TEXT)
                return;
        check_line_add(&line, &command);
        program_argument(p, arguments, 1, NULL, m->scope, &list);
        if (list.n > 0 && list.v[0].kind == VALUE_LIST)
                check_line_add_all(p, &line, &list.v[0]);
        program_inside(p, SCAN_BASH, line.text, line.len, m->node);
}

static void javascript_check_known(struct program *p, const struct known *known, const struct mention *m)
{
        struct arguments arguments;
        struct values first;
        javascript_arguments(p, m->node, &arguments);
        if (check_call(p, known, m, &arguments, check_module))
                return;
        program_argument(p, &arguments, 0, NULL, m->scope, &first);
        switch (known->check) {
        case CHECK_EVALUATE: /* the last: new Function('a', 'b', 'return a + b') */
                if (arguments.n > 0)
                        program_argument(p, &arguments, known->name[0] == 'v' ? 0 : arguments.n - 1, NULL,
                                         m->scope, &first);
                if (arguments.n > 0 || arguments.other)
                        check_code(p, SCAN_JAVASCRIPT, m->node, &first);
                break;
        case CHECK_TIMER:
                for (unsigned i = 0; i < first.n; i++)
                        if (first.v[i].kind == VALUE_TEXT || first.v[i].kind == VALUE_BYTES) {
                                check_code(p, SCAN_JAVASCRIPT, m->node, &first);
                                break;
                        }
                break;
        case CHECK_SHELL:
        case CHECK_COMMAND:
                check_command(p, known, &arguments, m);
                break;
        default:
                break;
        }
}

static bool is_constructor(struct program *p, TSNode node, uint32_t scope)
{
        static const char word[] = "constructor";
        struct values name;
        size_t len;
        const char *text = source_text(p->source, node, &len);
        switch (source_kind(p->source, node)) {
        case JS_MEMBER: /* its own end, unless something is missing there */
                if (!p->source->has_error &&
                    (len < sizeof word || memcmp(text + len - (sizeof word - 1), word, sizeof word - 1) != 0))
                        return false;
                return source_is(p->source, source_child(p->source, node, FIELD_PROPERTY), word);
        case JS_SUBSCRIPT:
                program_evaluate(p, source_child(p->source, node, FIELD_INDEX), scope, &name);
                return name.n > 0 && name.v[0].kind == VALUE_TEXT && name.v[0].len == 11 &&
                       !memcmp(name.v[0].text, "constructor", 11);
        default:
                return false;
        }
}

static void javascript_check_call(struct program *p, const struct mention *m)
{
        struct arguments arguments;
        struct values callee, code;
        TSNode function =
                source_child(p->source, m->node, m->kind == JS_NEW ? FIELD_CONSTRUCTOR : FIELD_FUNCTION);
        if (ts_node_is_null(function))
                return;
        program_evaluate(p, function, m->scope, &callee);
        for (unsigned i = 0; i < callee.n; i++) {
                const struct value *v = &callee.v[i];
                const struct known *known = v->kind == VALUE_NAME ? javascript_known(v->text, v->len) : NULL;
                if (known)
                        javascript_check_known(p, known, m);
        }
        /* (() => {}).constructor('code') is Function('code'). */
        if (m->kind == JS_CALL && is_constructor(p, function, m->scope)) {
                javascript_arguments(p, m->node, &arguments);
                if (arguments.n > 0) {
                        program_argument(p, &arguments, arguments.n - 1, NULL, m->scope, &code);
                        check_code(p, SCAN_JAVASCRIPT, m->node, &code);
                }
        }
}

/* ---- other mentions ---- */

/* Not only compared or tested, as in typeof require, require.main === module, eval === f. */
static bool is_value(const struct mention *m)
{
        return m->parent != JS_MEMBER && m->parent != JS_BINARY && m->parent != JS_UNARY;
}

static void check_mention(struct program *p, const struct mention *m)
{
        struct values values;
        if (m->called)
                return; /* reported with the call */
        program_evaluate(p, m->node, m->scope, &values);
        for (unsigned i = 0; i < values.n; i++) {
                const struct value *v = &values.v[i];
                const struct known *known = v->kind == VALUE_NAME ? javascript_known(v->text, v->len) : NULL;
                switch (known ? known->check : CHECK_NOTHING) {
                case CHECK_USE:
                case CHECK_SHELL:
                case CHECK_COMMAND:
                        check_say(p, known->rule, m->node);
                        break;
                case CHECK_EVALUATE:
                        if (is_value(m))
                                check_say(p, RULE_EVALUATE, m->node);
                        break;
                case CHECK_IMPORT:
                        if (is_value(m))
                                check_not_constant(p, m->node);
                        break;
                default:
                        break;
                }
        }
}

/* process[x], globalThis[x]: an unknown member. */
static void check_subscript(struct program *p, const struct mention *m)
{
        static const char *const roots[] = {"process", "globalThis", "global", "window",
                                            "module",  "require",    "fs",     "child_process"};
        struct values objects, names;
        program_evaluate(p, source_child(p->source, m->node, FIELD_OBJECT), m->scope, &objects);
        program_evaluate(p, source_child(p->source, m->node, FIELD_INDEX), m->scope, &names);
        bool constant = true;
        for (unsigned i = 0; i < names.n; i++)
                constant &= names.v[i].kind == VALUE_TEXT || names.v[i].kind == VALUE_NUMBER;
        for (unsigned i = 0; i < objects.n && (names.other || !constant); i++)
                for (size_t k = 0; k < sizeof roots / sizeof *roots; k++)
                        if (value_is_name(&objects.v[i], roots[k]))
                                check_say(p, RULE_DYNAMIC_NAME, m->node);
        check_mention(p, m);
}

static void check_member(struct program *p, const struct mention *m)
{
        /* x.constructor.constructor and the constructor of a prototype both lead to Function. */
        if (is_constructor(p, m->node, m->scope)) {
                TSNode object = source_child(p->source, m->node, FIELD_OBJECT);
                size_t len;
                const char *text = source_text(p->source, object, &len);
                if (is_constructor(p, object, m->scope) ||
                    (len > 21 && !memcmp(text, "Object.getPrototypeOf", 21)))
                        check_say(p, RULE_INTROSPECTION, m->node);
        }
        check_mention(p, m);
}

void javascript_check(struct program *p, const struct mention *m)
{
        switch (m->kind) {
        case JS_IMPORT_STATEMENT:
        case JS_EXPORT_STATEMENT:
                check_import(p, m);
                break;
        case JS_CALL:
        case JS_NEW:
                javascript_check_call(p, m);
                break;
        case JS_MEMBER:
                check_member(p, m);
                break;
        case JS_SUBSCRIPT:
                check_subscript(p, m);
                if (is_constructor(p, m->node, m->scope) &&
                    is_constructor(p, source_child(p->source, m->node, FIELD_OBJECT), m->scope))
                        check_say(p, RULE_INTROSPECTION, m->node);
                break;
        case JS_STRING:
        case JS_TEMPLATE:
                check_long_literal(p, m->node);
                break;
        default:
                check_mention(p, m);
        }
}
