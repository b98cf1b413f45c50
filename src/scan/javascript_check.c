/* scan/javascript_check.c -- the second look at a JavaScript text. */
#include <ctype.h>
#include <string.h>

#include "scan/javascript.h"
#include "scan/place.h"

static void say(struct program *p, enum rule rule, TSNode node)
{
        report_node(p->report, rule, node);
}

static bool limited(const struct program *p)
{
        return p->rules && p->rules->allowed_imports;
}

static void not_constant(struct program *p, TSNode node)
{
        say(p, RULE_IMPORT_NOT_CONSTANT, node);
        if (limited(p))
                p->report->to->verdict |= SCAN_NOT_ALLOWED;
}

/* ---- imports ---- */

static void check_module(struct program *p, TSNode node, const char *name, size_t len)
{
        struct values module = {0};
        javascript_add_module(p, name, len, &module);
        if (module.n != 1) {
                not_constant(p, node);
                return;
        }
        const struct known *known = javascript_module(module.v[0].text, module.v[0].len);
        if (known)
                say(p, known->rule, node);
        if (!limited(p))
                return;
        const char *const *list = p->rules->allowed_imports;
        size_t n = p->rules->n_allowed_imports;
        bool good = names_cover(list, n, name, len, "/");
        if (!good && len > 5 && !memcmp(name, "node:", 5))
                good = names_cover(list, n, name + 5, len - 5, "/");
        if (!good)
                say(p, RULE_IMPORT_NOT_ALLOWED, node);
}

static void check_modules(struct program *p, TSNode node, const struct values *names)
{
        bool constant = !names->other && names->n > 0;
        for (unsigned i = 0; i < names->n; i++) {
                if (names->v[i].kind == VALUE_TEXT && names->v[i].text)
                        check_module(p, node, names->v[i].text, names->v[i].len);
                else
                        constant = false;
        }
        if (!constant)
                not_constant(p, node);
}

static void check_import(struct program *p, const struct mention *m)
{
        TSNode source = source_child(p->source, m->node, FIELD_SOURCE);
        struct values name;
        if (ts_node_is_null(source))
                return; /* an export of its own */
        program_evaluate(p, source, m->scope, &name);
        check_modules(p, m->node, &name);
}

/* ---- calls ---- */

static void check_evaluate(struct program *p, TSNode node, const struct values *code)
{
        bool decoded = false, constant = !code->other && code->n > 0;
        for (unsigned i = 0; i < code->n; i++) {
                const struct value *v = &code->v[i];
                decoded |= v->decoded;
                constant &= v->kind == VALUE_TEXT && v->text;
                if (v->kind == VALUE_TEXT && v->text)
                        program_inside(p, SCAN_JAVASCRIPT, v->text, v->len, node);
        }
        if (decoded)
                say(p, RULE_OBFUSCATED_CODE, node);
        else
                say(p, constant ? RULE_EVALUATE_CONSTANT : RULE_EVALUATE, node);
        if (!constant && limited(p))
                not_constant(p, node);
}

static bool may_write(const struct values *flags)
{
        for (unsigned i = 0; i < flags->n; i++) {
                const struct value *v = &flags->v[i];
                if (v->kind == VALUE_NAME ? !strstr(v->text, "O_RDONLY") : v->kind != VALUE_TEXT || !v->text)
                        return true;
                for (size_t k = 0; k < v->len && v->kind == VALUE_TEXT; k++)
                        if (strchr("wax+", v->text[k]))
                                return true;
        }
        return flags->other;
}

/* spawn('curl', ['-s', url]): as a line of a shell. */
static void check_command(struct program *p, const struct known *known,
                          const struct javascript_arguments *arguments, const struct mention *m)
{
        struct values command, list, word;
        TSNode words[32];
        char line[2048];
        size_t used = 0, n = 0;
        say(p, RULE_PROCESS_CALL, m->node);
        javascript_argument(p, arguments, 0, m->scope, &command);
        if (known->check == CHECK_SHELL) {
                for (unsigned i = 0; i < command.n; i++)
                        if (command.v[i].kind == VALUE_TEXT && command.v[i].text)
                                program_inside(p, SCAN_BASH, command.v[i].text, command.v[i].len, m->node);
                return;
        }
        if (command.n == 0 || command.v[0].kind != VALUE_TEXT || !command.v[0].text ||
            command.v[0].len > sizeof line / 2)
                return;
        memcpy(line, command.v[0].text, command.v[0].len);
        used = command.v[0].len;
        javascript_argument(p, arguments, 1, m->scope, &list);
        if (list.n > 0 && list.v[0].kind == VALUE_LIST)
                n = source_children(p->source, list.v[0].node, words, 32);
        for (size_t i = 0; i < n; i++) {
                program_evaluate(p, words[i], list.v[0].scope, &word);
                const struct value *v = &word.v[0];
                bool text = word.n > 0 && v->kind == VALUE_TEXT && v->text;
                if (used + (text ? (size_t)v->len * 4 : 16) + 4 > sizeof line)
                        break;
                line[used++] = ' ';
                if (!text) {
                        memcpy(line + used, "\"$unknown\"", 10);
                        used += 10;
                        continue;
                }
                line[used++] = '\'';
                for (size_t k = 0; k < v->len; k++) {
                        if (v->text[k] == '\'') {
                                memcpy(line + used, "'\\'", 3);
                                used += 3;
                        }
                        line[used++] = v->text[k];
                }
                line[used++] = '\'';
        }
        program_inside(p, SCAN_BASH, line, used, m->node);
}

static void check_write(struct program *p, unsigned files, const struct javascript_arguments *arguments,
                        const struct mention *m)
{
        struct values path;
        for (size_t i = 0; i < 2; i++)
                if (files & 1u << i) {
                        bool there = javascript_argument(p, arguments, i, m->scope, &path);
                        say(p, there ? place_write(&path) : RULE_FILE_WRITE_UNKNOWN, m->node);
                }
}

static void check_known(struct program *p, const struct known *known, const struct mention *m)
{
        struct javascript_arguments arguments;
        struct values first, second;
        javascript_arguments(p, m->node, &arguments);
        bool given = javascript_argument(p, &arguments, 0, m->scope, &first);
        switch (known->check) {
        case CHECK_USE:
        case CHECK_CALL:
                say(p, known->rule, m->node);
                break;
        case CHECK_IMPORT:
                check_modules(p, m->node, &first);
                break;
        case CHECK_EVALUATE: /* the last: new Function('a', 'b', 'return a + b') */
                if (arguments.n > 0)
                        javascript_argument(p, &arguments, known->name[0] == 'v' ? 0 : arguments.n - 1, m->scope,
                                            &first);
                if (arguments.n > 0 || arguments.other)
                        check_evaluate(p, m->node, &first);
                break;
        case CHECK_TIMER:
                for (unsigned i = 0; i < first.n; i++)
                        if (first.v[i].kind == VALUE_TEXT || first.v[i].kind == VALUE_BYTES) {
                                check_evaluate(p, m->node, &first);
                                break;
                        }
                break;
        case CHECK_OPEN:
                given = javascript_argument(p, &arguments, 1, m->scope, &second);
                say(p, given && may_write(&second) ? place_write(&first) : place_read(&first), m->node);
                break;
        case CHECK_READ:
                if (given)
                        say(p, place_read(&first), m->node);
                break;
        case CHECK_WRITE:
                check_write(p, known->files, &arguments, m);
                break;
        case CHECK_SHELL:
        case CHECK_COMMAND:
                check_command(p, known, &arguments, m);
                break;
        case CHECK_CHDIR:
                if (place_write(&first) != RULE_FILE_WRITE)
                        say(p, RULE_DIRECTORY_CHANGE, m->node);
                break;
        default:
                break;
        }
}

static bool is_constructor(struct program *p, TSNode node, uint32_t scope)
{
        struct values name;
        switch (source_kind(p->source, node)) {
        case JS_MEMBER:
                return source_is(p->source, source_child(p->source, node, FIELD_PROPERTY), "constructor");
        case JS_SUBSCRIPT:
                program_evaluate(p, source_child(p->source, node, FIELD_INDEX), scope, &name);
                return name.n > 0 && name.v[0].kind == VALUE_TEXT && name.v[0].len == 11 &&
                       !memcmp(name.v[0].text, "constructor", 11);
        default:
                return false;
        }
}

static void check_call(struct program *p, const struct mention *m)
{
        struct javascript_arguments arguments;
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
                        check_known(p, known, m);
        }
        /* (() => {}).constructor('code') is Function('code'). */
        if (m->kind == JS_CALL && is_constructor(p, function, m->scope)) {
                javascript_arguments(p, m->node, &arguments);
                if (arguments.n > 0) {
                        javascript_argument(p, &arguments, arguments.n - 1, m->scope, &code);
                        check_evaluate(p, m->node, &code);
                }
        }
}

/* ---- other mentions ---- */

/* Not only asked about, as in typeof require, require.main === module, eval === f. */
static bool is_value(const struct mention *m)
{
        return m->parent != JS_MEMBER && m->parent != JS_BINARY && m->parent != JS_UNARY;
}

static void check_mention(struct program *p, const struct mention *m)
{
        struct values values;
        if (m->called)
                return; /* told with the call */
        program_evaluate(p, m->node, m->scope, &values);
        for (unsigned i = 0; i < values.n; i++) {
                const struct value *v = &values.v[i];
                const struct known *known = v->kind == VALUE_NAME ? javascript_known(v->text, v->len) : NULL;
                switch (known ? known->check : CHECK_NOTHING) {
                case CHECK_USE:
                case CHECK_SHELL:
                case CHECK_COMMAND:
                        say(p, known->rule, m->node);
                        break;
                case CHECK_EVALUATE:
                        if (is_value(m))
                                say(p, RULE_EVALUATE, m->node);
                        break;
                case CHECK_IMPORT:
                        if (is_value(m))
                                not_constant(p, m->node);
                        break;
                default:
                        break;
                }
        }
}

/* process[x], globalThis[x]: what is taken out of them nobody can tell. */
static void check_subscript(struct program *p, const struct mention *m)
{
        static const char *const roots[] = {"process", "globalThis", "global", "window", "module", "require", "fs",
                                            "child_process"};
        struct values objects, names;
        program_evaluate(p, source_child(p->source, m->node, FIELD_OBJECT), m->scope, &objects);
        program_evaluate(p, source_child(p->source, m->node, FIELD_INDEX), m->scope, &names);
        bool constant = true;
        for (unsigned i = 0; i < names.n; i++)
                constant &= names.v[i].kind == VALUE_TEXT || names.v[i].kind == VALUE_NUMBER;
        for (unsigned i = 0; i < objects.n && (names.other || !constant); i++)
                for (size_t k = 0; k < sizeof roots / sizeof *roots; k++)
                        if (value_is_name(&objects.v[i], roots[k]))
                                say(p, RULE_DYNAMIC_NAME, m->node);
        check_mention(p, m);
}

static void check_member(struct program *p, const struct mention *m)
{
        TSNode object = source_child(p->source, m->node, FIELD_OBJECT);
        size_t len;
        const char *text = source_text(p->source, object, &len);
        bool constructor = is_constructor(p, m->node, m->scope);
        /* x.constructor.constructor; the constructor of a prototype: both are ways to Function. */
        if (constructor &&
            (is_constructor(p, object, m->scope) || (len > 21 && !memcmp(text, "Object.getPrototypeOf", 21))))
                say(p, RULE_INTROSPECTION, m->node);
        check_mention(p, m);
}

static void check_string(struct program *p, const struct mention *m)
{
        size_t len, run = 0;
        const char *text = source_text(p->source, m->node, &len);
        for (size_t i = 0; i < len; i++) {
                run = isspace((unsigned char)text[i]) ? 0 : run + 1;
                if (run > 1000) {
                        say(p, RULE_LONG_LITERAL, m->node);
                        return;
                }
        }
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
                check_call(p, m);
                break;
        case JS_MEMBER:
                check_member(p, m);
                break;
        case JS_SUBSCRIPT:
                check_subscript(p, m);
                if (is_constructor(p, m->node, m->scope) &&
                    is_constructor(p, source_child(p->source, m->node, FIELD_OBJECT), m->scope))
                        say(p, RULE_INTROSPECTION, m->node);
                break;
        case JS_STRING:
        case JS_TEMPLATE:
                check_string(p, m);
                break;
        default:
                check_mention(p, m);
        }
}
