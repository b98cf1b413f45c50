/* scan/python/check.c -- the second pass over a Python text: checks imports, calls and uses of names. */
#include <string.h>

#include "scan/check.h"
#include "scan/place.h"
#include "scan/python/python.h"

/* ---- imports ---- */

static bool allowed(struct program *p, const char *module, size_t len)
{
        return !check_limited(p) ||
               names_cover(p->rules->allowed_imports, p->rules->n_allowed_imports, module, len, ".");
}

void python_check_import(struct program *p, TSNode node, const char *module, size_t len)
{
        const struct known *known = python_module(module, len);
        report_import(p->report, module, len);
        if (known)
                check_say(p, known->rule, node);
        if (!allowed(p, module, len))
                check_say(p, RULE_IMPORT_NOT_ALLOWED, node);
}

static void check_import(struct program *p, TSNode node)
{
        TSNode names[32], alias;
        size_t n = source_children(p->source, node, names, 32);
        for (size_t i = 0; i < n; i++) {
                const char *module = python_dotted(p, names[i], &alias);
                if (module)
                        python_check_import(p, node, module, strlen(module));
                else
                        check_not_constant(p, node);
        }
        if (n == 32)
                check_not_constant(p, node); /* more entries than are checked */
}

/* from a import b: b may be a submodule of a, or a name in it. */
static void check_import_from(struct program *p, TSNode node)
{
        TSNode names[64], unused, module_node = source_child(p->source, node, FIELD_MODULE_NAME);
        struct values full;
        size_t n = source_children(p->source, node, names, 64);
        const char *module = ts_node_is_null(module_node) ? NULL : python_dotted(p, module_node, &unused);
        if (!module) {
                check_not_constant(p, node);
                return;
        }
        const struct value of = {.kind = VALUE_NAME, .text = module, .len = (uint32_t)strlen(module)};
        report_import(p->report, module, of.len);
        bool good = allowed(p, module, of.len), known = python_module(module, of.len);
        if (known)
                check_say(p, python_module(module, of.len)->rule, node);
        for (size_t i = 0; i < n; i++) {
                if (ts_node_eq(names[i], module_node))
                        continue;
                bool star = source_kind(p->source, names[i]) == PY_WILDCARD_IMPORT;
                const char *name = star ? "*" : python_dotted(p, names[i], &unused);
                full = (struct values){0};
                if (name)
                        values_add_member(&full, &p->arena, &of, name, strlen(name));
                if (full.n == 0) {
                        check_not_constant(p, node);
                        continue;
                }
                const struct value *v = &full.v[0];
                if (!known && python_module(v->text, v->len))
                        check_say(p, python_module(v->text, v->len)->rule, node);
                if (!good && (star || !allowed(p, v->text, v->len)))
                        check_say(p, RULE_IMPORT_NOT_ALLOWED, node);
                /* from shutil import os; from random import _os; from json import codecs */
                const char *plain = name + (name[0] == '_');
                const size_t len = strlen(plain);
                if (check_limited(p) &&
                    (python_is_root(plain, len) || python_is_borrowed(module, of.len, plain, len)))
                        python_check_import(p, node, plain, len);
        }
}

/* ---- calls ---- */

/* A function with a file name only if it saves. */
static void check_save(struct program *p, const struct mention *m, const struct arguments *arguments)
{
        static const char *const names[] = {"path", "filename", "path_or_buf", "fname"};
        struct values path;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (program_argument(p, arguments, 0, names[i], m->scope, &path)) {
                        check_say(p, place_write(&path), m->node);
                        return;
                }
}

static bool is_shell(struct program *p, const struct arguments *arguments)
{
        for (size_t i = 0; i < arguments->n_named; i++)
                if (source_is(p->source, arguments->named[i].name, "shell"))
                        return !source_is(p->source, arguments->named[i].value, "False");
        return false;
}

/* The first word is the program; without it nothing can be reported. */
static void check_command_list(struct program *p, TSNode node, const struct value *list)
{
        struct check_line line = {.len = 0};
        check_line_add_all(p, &line, list);
        if (line.len > 0 && line.text[0] == '\'')
                program_inside(p, SCAN_BASH, line.text, line.len, node);
}

static void check_command(struct program *p, const struct known *known, TSNode node,
                          const struct arguments *arguments, uint32_t scope)
{
        struct values command;
        bool shell = known->check == CHECK_SHELL || is_shell(p, arguments);
        check_say(p, RULE_PROCESS_CALL, node);
        program_argument(p, arguments, 0, known->check == CHECK_SHELL ? "cmd" : "args", scope, &command);
        for (unsigned i = 0; i < command.n; i++) {
                const struct value *v = &command.v[i];
                if (v->kind == VALUE_TEXT && v->text && (shell || known->check == CHECK_COMMAND))
                        program_inside(p, SCAN_BASH, v->text, v->len, node);
                else if (v->kind == VALUE_LIST)
                        check_command_list(p, node, v);
        }
}

static bool is_url(const struct values *values)
{
        static const char *const schemes[] = {"http:", "https:", "ftp:", "s3:", "gs:"};
        for (unsigned i = 0; i < values->n; i++)
                for (size_t k = 0; k < sizeof schemes / sizeof *schemes && values->v[i].kind == VALUE_TEXT;
                     k++)
                        if (values->v[i].text && values->v[i].len > strlen(schemes[k]) &&
                            !memcmp(values->v[i].text, schemes[k], strlen(schemes[k])))
                                return true;
        return false;
}

/* getattr(os, name): an unknown member of a module. */
static void check_member(struct program *p, TSNode node, const struct values *object,
                         const struct values *member)
{
        for (unsigned i = 0; i < member->n; i++)
                if (member->v[i].kind == VALUE_TEXT && member->v[i].text &&
                    python_is_inner(member->v[i].text, member->v[i].len))
                        check_say(p, RULE_INTROSPECTION, node);
        for (unsigned i = 0; i < object->n && member->other; i++) {
                const struct value *v = &object->v[i];
                if (v->kind != VALUE_NAME)
                        continue;
                bool module = python_is_root(v->text, v->len) || python_module(v->text, v->len) ||
                              value_is_name(v, "__builtins__") || value_is_name(v, "sys.modules") ||
                              value_is_name(v, "globals()");
                size_t n = v->len;
                if (n > 9 && !strcmp(v->text + n - 9, ".__dict__"))
                        module |= python_is_root(v->text, n - 9) || python_module(v->text, n - 9);
                if (!module)
                        continue;
                check_say(p, RULE_DYNAMIC_NAME, node);
                if (check_limited(p))
                        check_not_constant(p, node);
        }
}

static void python_check_known(struct program *p, const struct known *known, const struct mention *m)
{
        struct arguments arguments;
        struct values first, second;
        python_arguments(p, m->node, &arguments);
        if (check_call(p, known, m, &arguments, python_check_import))
                return;
        switch (known->check) {
        case CHECK_EVALUATE:
                if (program_argument(p, &arguments, 0, "source", m->scope, &first) ||
                    program_argument(p, &arguments, 0, "stmt", m->scope, &first))
                        check_code(p, SCAN_PYTHON, m->node, &first);
                break;
        case CHECK_SAVE:
                check_save(p, m, &arguments);
                break;
        case CHECK_SHELL:
        case CHECK_COMMAND:
                check_command(p, known, m->node, &arguments, m->scope);
                break;
        case CHECK_MEMBER:
                program_argument(p, &arguments, 0, NULL, m->scope, &first);
                program_argument(p, &arguments, 1, NULL, m->scope, &second);
                check_member(p, m->node, &first, &second);
                break;
        case CHECK_URL:
                program_argument(p, &arguments, 0, "filepath_or_buffer", m->scope, &first);
                check_say(p, is_url(&first) ? RULE_NETWORK_CALL : place_read(&first), m->node);
                break;
        default:
                break;
        }
}

/* A method of a path, or of an unknown object. */
static void check_method(struct program *p, TSNode function, const struct mention *m)
{
        struct arguments arguments;
        struct values object, first;
        size_t len;
        const char *name = source_text(p->source, source_child(p->source, function, FIELD_ATTRIBUTE), &len);
        const struct known *path_method = python_path_method(name, len), *method = python_method(name, len);
        if (!path_method && !method)
                return;
        program_evaluate(p, source_child(p->source, function, FIELD_OBJECT), m->scope, &object);
        bool is_path = false;
        for (unsigned i = 0; i < object.n; i++) {
                is_path |= object.v[i].kind == VALUE_PATH;
                if (object.v[i].kind == VALUE_NAME && python_known(object.v[i].text, object.v[i].len))
                        return; /* a function with a known name */
        }
        if (!is_path && !method)
                return;
        python_arguments(p, m->node, &arguments);
        bool given = program_argument(p, &arguments, 0, NULL, m->scope, &first);
        if (!is_path && method->check != CHECK_WRITE) {
                python_check_known(p, method, m);
        } else if (!is_path) {
                check_say(p, RULE_FILE_WRITE_UNKNOWN, m->node);
        } else if (path_method && path_method->check == CHECK_OPEN) {
                given = program_argument(p, &arguments, 0, "mode", m->scope, &first);
                check_open(p, m->node, &object, &first, given);
        } else if (path_method) {
                check_say(p, path_method->check == CHECK_READ ? place_read(&object) : place_write(&object),
                          m->node);
                if (path_method->files && given)
                        check_say(p, place_write(&first), m->node);
        }
}

static void check_mention(struct program *p, const struct mention *m);

/* Whether the result of a call may have a name. */
static bool gives_names(const struct known *known)
{
        return known->result == RESULT_MODULE || known->result == RESULT_TOP_MODULE ||
               known->result == RESULT_MEMBER || known->result == RESULT_SAME ||
               known->result == RESULT_MEMBERS;
}

static void python_check_call(struct program *p, const struct mention *m)
{
        struct values callee;
        bool names;
        TSNode function = source_child(p->source, m->node, FIELD_FUNCTION);
        if (ts_node_is_null(function))
                return;
        program_evaluate(p, function, m->scope, &callee);
        names = source_kind(p->source, function) == PY_CALL; /* operator.attrgetter(…)(…) */
        for (unsigned i = 0; i < callee.n; i++) {
                const struct value *v = &callee.v[i];
                const struct known *known = v->kind == VALUE_NAME ? python_known(v->text, v->len) : NULL;
                if (known)
                        python_check_known(p, known, m);
                names |= known && gives_names(known);
        }
        if (names)
                check_mention(p, m);
        if (source_kind(p->source, function) == PY_ATTRIBUTE)
                check_method(p, function, m);
}

/* ---- names that are mentioned without being called ---- */

/* Modules that were obtained without an import statement. */
static void check_module(struct program *p, const struct mention *m, const struct values *values)
{
        for (unsigned i = 0; i < values->n && m->kind != PY_IDENTIFIER && check_limited(p); i++)
                if (values->v[i].kind == VALUE_NAME && python_is_root(values->v[i].text, values->v[i].len))
                        python_check_import(p, m->node, values->v[i].text, values->v[i].len);
}

static void check_mention(struct program *p, const struct mention *m)
{
        struct values values;
        if (m->called && !check_limited(p))
                return; /* reported with the call */
        program_evaluate(p, m->node, m->scope, &values);
        check_module(p, m, &values);
        for (unsigned i = 0; i < values.n; i++) {
                const struct value *v = &values.v[i];
                const struct known *known = v->kind == VALUE_NAME ? python_known(v->text, v->len) : NULL;
                if (!known || m->called)
                        continue;
                switch (known->check) {
                case CHECK_USE:
                case CHECK_SHELL:
                case CHECK_COMMAND:
                        check_say(p, known->rule, m->node);
                        break;
                case CHECK_EVALUATE:
                        check_say(p, RULE_EVALUATE, m->node);
                        if (check_limited(p))
                                check_not_constant(p, m->node);
                        break;
                case CHECK_IMPORT:
                        check_not_constant(p, m->node);
                        break;
                case CHECK_WRITE:
                        check_say(p, RULE_FILE_WRITE_UNKNOWN, m->node);
                        break;
                case CHECK_CHDIR:
                        check_say(p, RULE_DIRECTORY_CHANGE, m->node);
                        break;
                default:
                        break;
                }
        }
}

static void check_attribute(struct program *p, const struct mention *m)
{
        size_t len;
        const char *name = source_text(p->source, source_child(p->source, m->node, FIELD_ATTRIBUTE), &len);
        if (python_is_inner(name, len))
                check_say(p, RULE_INTROSPECTION, m->node);
        check_mention(p, m);
}

static void check_subscript(struct program *p, const struct mention *m)
{
        struct values object, index;
        program_evaluate(p, source_child(p->source, m->node, FIELD_VALUE), m->scope, &object);
        program_evaluate(p, source_child(p->source, m->node, FIELD_SUBSCRIPT), m->scope, &index);
        for (unsigned i = 0; i < object.n; i++) {
                const struct value *v = &object.v[i];
                bool members = v->kind == VALUE_NAME &&
                               (value_is_name(v, "__builtins__") || value_is_name(v, "sys.modules") ||
                                (v->len > 9 && !strcmp(v->text + v->len - 9, ".__dict__")));
                if (members)
                        check_member(p, m->node, &object, &index);
        }
        check_mention(p, m);
}

void python_check(struct program *p, const struct mention *m)
{
        struct values code;
        if (check_limited(p))
                python_limit(p, m);
        if (m->limit)
                return;
        switch (m->kind) {
        case PY_IMPORT:
                check_import(p, m->node);
                break;
        case PY_IMPORT_FROM:
                check_import_from(p, m->node);
                break;
        case PY_CALL:
                python_check_call(p, m);
                break;
        case PY_ATTRIBUTE:
                check_attribute(p, m);
                break;
        case PY_SUBSCRIPT:
                check_subscript(p, m);
                break;
        case PY_STRING:
                check_long_literal(p, m->node);
                break;
        case PY_EXEC:
                program_evaluate(p, source_child(p->source, m->node, FIELD_CODE), m->scope, &code);
                check_code(p, SCAN_PYTHON, m->node, &code);
                break;
        default:
                check_mention(p, m);
        }
}
