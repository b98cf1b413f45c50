/* scan/python/bind.c -- the first pass over a Python text: scopes, bindings, and nodes for the second
 * pass. */
#include <string.h>

#include "scan/check.h"
#include "scan/python/python.h"

#define LONG_LITERAL 1000
#define TOP (1u << 31) /* flag of a frame, beside the scope: a statement at module level */

static void python_bind(struct program *p, TSNode name, uint32_t scope, const struct binding *binding)
{
        size_t len;
        const char *text;
        struct binding b = *binding;
        if (ts_node_is_null(name))
                return;
        text = source_text(p->source, name, &len);
        b.position = ts_node_start_byte(name);
        program_bind(p, text, len, scope, &b);
}

static void bind_opaque(struct program *p, TSNode name, uint32_t scope, bool firm)
{
        python_bind(p, name, scope, &(struct binding){.kind = BINDING_OPAQUE, .firm = firm});
}

/* Binds a target of an assignment: a name, or a pattern of names. */
static void bind_target(struct program *p, TSNode target, TSNode value, enum binding_kind how, uint32_t scope,
                        bool firm)
{
        TSNode names[16], values[16];
        size_t n, n_values = 0;
        if (ts_node_is_null(target))
                return;
        switch (source_kind(p->source, target)) {
        case PY_IDENTIFIER:
                python_bind(p, target, scope,
                            &(struct binding){.kind = ts_node_is_null(value) ? BINDING_OPAQUE : how,
                                              .firm = firm,
                                              .node = value,
                                              .scope = scope});
                break;
        case PY_PATTERN_LIST:
        case PY_TUPLE_PATTERN:
        case PY_LIST_PATTERN:
                n = source_children(p->source, target, names, 16);
                if (!ts_node_is_null(value) && how == BINDING_VALUE) {
                        unsigned kind = source_kind(p->source, value);
                        if (kind == PY_EXPRESSION_LIST || kind == PY_TUPLE || kind == PY_LIST)
                                n_values = source_children(p->source, value, values, 16);
                }
                for (size_t i = 0; i < n; i++) {
                        /* a, b = x, y: one by one.  Nested patterns are only known to be bound. */
                        bool simple = source_kind(p->source, names[i]) == PY_IDENTIFIER;
                        if (simple && n_values == n)
                                bind_target(p, names[i], values[i], BINDING_VALUE, scope, firm);
                        else if (simple)
                                bind_opaque(p, names[i], scope, firm);
                }
                break;
        default:
                break;
        }
}

/* ---- imports ---- */

const char *python_dotted(struct program *p, TSNode node, TSNode *ret_alias)
{
        TSNode name = node;
        size_t len, used = 0;
        *ret_alias = (TSNode){0};
        if (source_kind(p->source, node) == PY_ALIASED_IMPORT) {
                name = source_child(p->source, node, FIELD_NAME);
                *ret_alias = source_child(p->source, node, FIELD_ALIAS);
        }
        const char *text = source_text(p->source, name, &len);
        char *plain = len <= 1000 ? arena_alloc(&p->arena, len + 1) : NULL;
        for (size_t i = 0; i < len && plain; i++)
                if (text[i] != ' ' && text[i] != '\t' && text[i] != '\\' && text[i] != '\n' &&
                    text[i] != '\r')
                        plain[used++] = text[i];
        return plain;
}

static void python_import(struct program *p, TSNode node, uint32_t scope, bool firm)
{
        TSNode names[32], alias;
        size_t n = source_children(p->source, node, names, 32);
        for (size_t i = 0; i < n; i++) {
                const char *module = python_dotted(p, names[i], &alias);
                if (!module)
                        continue;
                struct binding b = {.kind = BINDING_NAME, .firm = firm, .text = module};
                size_t top = strcspn(module, ".");
                if (!ts_node_is_null(alias)) {
                        b.len = (uint32_t)strlen(module);
                        python_bind(p, alias, scope, &b);
                } else if ((b.text = program_copy(p, module, top))) {
                        b.len = (uint32_t)top;
                        b.position = ts_node_start_byte(node);
                        program_bind(p, b.text, top, scope, &b);
                }
        }
}

static void import_from(struct program *p, TSNode node, uint32_t scope, bool firm)
{
        TSNode names[64], alias, unused;
        TSNode module_node = source_child(p->source, node, FIELD_MODULE_NAME);
        size_t n = source_children(p->source, node, names, 64);
        if (ts_node_is_null(module_node))
                return;
        const char *module = python_dotted(p, module_node, &unused);
        if (!module)
                return;
        for (size_t i = 0; i < n; i++) {
                if (ts_node_eq(names[i], module_node))
                        continue;
                if (source_kind(p->source, names[i]) == PY_WILDCARD_IMPORT) {
                        program_add_star(p, module);
                        continue;
                }
                const char *name = python_dotted(p, names[i], &alias);
                struct values full = {0};
                const struct value of = {.kind = VALUE_NAME, .text = module, .len = (uint32_t)strlen(module)};
                if (!name)
                        continue;
                const char *plain = name + (name[0] == '_' && python_is_root(name + 1, strlen(name) - 1));
                if (!strcmp(module, "builtins") || python_is_root(plain, strlen(plain)))
                        values_add_text(&full, &p->arena, VALUE_NAME, plain, strlen(plain));
                else
                        values_add_member(
                                &full, &p->arena,
                                strcmp(module, "posix") != 0 ? &of : &(struct value){.text = "os", .len = 2},
                                name, strlen(name));
                struct binding b = {.kind = full.n ? BINDING_NAME : BINDING_OPAQUE,
                                    .firm = firm,
                                    .text = full.v[0].text,
                                    .len = full.v[0].len,
                                    .position = ts_node_start_byte(node)};
                if (!ts_node_is_null(alias))
                        python_bind(p, alias, scope, &b);
                else
                        program_bind(p, name, strlen(name), scope, &b);
        }
}

/* ---- bindings of other constructs ---- */

static void bind_elsewhere(struct program *p, TSNode node, uint32_t scope, bool global)
{
        TSNode names[32];
        size_t n = source_children(p->source, node, names, 32);
        uint32_t to = global ? 0 : p->scopes[scope].parent;
        while (!global && p->scopes[to].kind == SCOPE_CLASS)
                to = p->scopes[to].parent;
        for (size_t i = 0; i < n && to != scope; i++)
                python_bind(p, names[i], scope, &(struct binding){.kind = BINDING_OUTER, .scope = to});
}

static void bind_parameter(struct program *p, TSNode node, unsigned kind, uint32_t scope)
{
        TSNode name;
        if (kind == PY_DEFAULT_PARAMETER || kind == PY_TYPED_DEFAULT_PARAMETER) {
                name = source_child(p->source, node, FIELD_NAME);
                bind_opaque(p, name, scope, false);
                /* Or a parameter with a default, which is evaluated in the outer scope. */
                python_bind(p, name, scope,
                            &(struct binding){.kind = BINDING_VALUE,
                                              .node = source_child(p->source, node, FIELD_VALUE),
                                              .scope = p->scopes[scope].parent});
        } else if (kind == PY_IDENTIFIER) {
                bind_opaque(p, node, scope, false);
        } else if (source_children(p->source, node, &name, 1) == 1 &&
                   source_kind(p->source, name) == PY_IDENTIFIER) {
                bind_opaque(p, name, scope, false);
        }
}

static void delete (struct program *p, TSNode node)
{
        TSNode names[32];
        size_t len, n = source_children(p->source, node, names, 32);
        if (n == 1 && source_kind(p->source, names[0]) == PY_EXPRESSION_LIST)
                n = source_children(p->source, names[0], names, 32);
        for (size_t i = 0; i < n; i++) {
                const char *text = source_text(p->source, names[i], &len);
                program_delete(p, text, len);
        }
}

static void python_assignment(struct program *p, TSNode node, uint32_t scope, bool firm)
{
        TSNode target = source_child(p->source, node, FIELD_LEFT),
               value = source_child(p->source, node, FIELD_RIGHT);
        /* a = b = c: each is bound to c. */
        for (int i = 0; i < 16 && !ts_node_is_null(value) && source_kind(p->source, value) == PY_ASSIGNMENT;
             i++)
                value = source_child(p->source, value, FIELD_RIGHT);
        bind_target(p, target, value, BINDING_VALUE, scope, firm && !ts_node_is_null(value));
}

/* ---- names that are not uses ---- */

static bool is_pattern(unsigned kind)
{
        return kind == PY_PATTERN_LIST || kind == PY_TUPLE_PATTERN || kind == PY_LIST_PATTERN ||
               kind == PY_LIST_SPLAT_PATTERN || kind == PY_DICTIONARY_SPLAT_PATTERN ||
               kind == PY_AS_PATTERN_TARGET || kind == PY_SPLAT_PATTERN || kind == PY_CASE_PATTERN;
}

/* With a list of allowed imports, more names and strings are checked. */
static void mention_for_limit(struct program *p, TSNode node, unsigned kind, unsigned parent, uint32_t scope)
{
        if (check_limited(p))
                program_add_mention(p, &(struct mention){.node = node,
                                                         .scope = scope,
                                                         .kind = (uint8_t)kind,
                                                         .parent = (uint8_t)parent,
                                                         .limit = true});
}

static void python_identifier(struct program_walk *walk, TSNode node, unsigned parent, uint32_t scope)
{
        struct program *p = walk->program;
        size_t len;
        const char *text;
        switch (parent) {
        case PY_ATTRIBUTE:
                /* The attribute is checked as a whole; only eval.anything is checked by itself. */
                text = source_text(p->source, node, &len);
                if (walker_at(&walk->walker, p->source, FIELD_ATTRIBUTE))
                        return;
                if (!python_is_builtin(text, len)) {
                        mention_for_limit(p, node, PY_IDENTIFIER, parent, scope);
                        return;
                }
                break;
        case PY_CALL:
                /* The call is checked as a whole. */
                if (walker_at(&walk->walker, p->source, FIELD_FUNCTION)) {
                        mention_for_limit(p, node, PY_IDENTIFIER, parent, scope);
                        return;
                }
                break;
        case PY_KEYWORD_PATTERN:
                mention_for_limit(p, node, PY_IDENTIFIER, parent, scope);
                break;
        case PY_ASSIGNMENT:
        case PY_AUGMENTED_ASSIGNMENT:
        case PY_FOR:
        case PY_FOR_IN:
                if (walker_at(&walk->walker, p->source, FIELD_LEFT))
                        return;
                break;
        case PY_KEYWORD_ARGUMENT:
        case PY_NAMED_EXPRESSION:
        case PY_FUNCTION:
        case PY_CLASS:
        case PY_DEFAULT_PARAMETER:
        case PY_TYPED_DEFAULT_PARAMETER:
                if (walker_at(&walk->walker, p->source, FIELD_NAME))
                        return;
                break;
        case PY_PARAMETERS:
        case PY_LAMBDA_PARAMETERS:
        case PY_TYPED_PARAMETER:
                if (parent != PY_TYPED_PARAMETER)
                        bind_parameter(p, node, PY_IDENTIFIER, scope);
                return;
        case PY_DOTTED_NAME:
        case PY_ALIASED_IMPORT:
        case PY_GLOBAL:
        case PY_NONLOCAL:
        case PY_DELETE:
                return;
        default:
                if (is_pattern(parent))
                        return;
        }
        program_add_mention(
                p, &(struct mention){
                           .node = node, .scope = scope, .kind = PY_IDENTIFIER, .parent = (uint8_t)parent});
}

static void python_mention(struct program_walk *walk, TSNode node, unsigned kind, unsigned parent,
                           uint32_t scope)
{
        const struct source *source = walk->program->source;
        program_add_mention(walk->program,
                            &(struct mention){.node = node,
                                              .scope = scope,
                                              .kind = (uint8_t)kind,
                                              .parent = (uint8_t)parent,
                                              .called = parent == PY_CALL &&
                                                        walker_at(&walk->walker, source, FIELD_FUNCTION)});
}

/* Only f-strings (and t-strings) contain expressions. */
static bool has_interpolations(const struct source *source, TSNode node)
{
        size_t len;
        const char *text = source_text(source, node, &len);
        for (size_t i = 0; i < len && i < 3 && text[i] != '"' && text[i] != '\''; i++)
                if (strchr("fFtT", text[i]))
                        return true;
        return source->has_error; /* the syntax error may be inside */
}

/* Binds names, except by imports, functions and classes. */
static void bind_by(struct program *p, TSNode node, unsigned kind, uint32_t scope, bool firm)
{
        TSNode value;
        switch (kind) {
        case PY_ASSIGNMENT:
                python_assignment(p, node, scope, firm);
                break;
        case PY_AUGMENTED_ASSIGNMENT:
                bind_target(p, source_child(p->source, node, FIELD_LEFT), (TSNode){0}, BINDING_OPAQUE, scope,
                            false);
                break;
        case PY_NAMED_EXPRESSION:
                bind_target(p, source_child(p->source, node, FIELD_NAME),
                            source_child(p->source, node, FIELD_VALUE), BINDING_VALUE, scope, false);
                break;
        case PY_FOR:
        case PY_FOR_IN:
                value = source_child(p->source, node, FIELD_RIGHT);
                bind_target(p, source_child(p->source, node, FIELD_LEFT), value, BINDING_ELEMENTS, scope,
                            false);
                break;
        case PY_AS_PATTERN:
                if (source_children(p->source, source_child(p->source, node, FIELD_ALIAS), &value, 1) == 1)
                        bind_target(p, value, node, BINDING_VALUE, scope, false);
                break;
        case PY_CASE_PATTERN:
        case PY_SPLAT_PATTERN:
                bind_opaque(p, node, scope, false);
                break;
        case PY_GLOBAL:
        case PY_NONLOCAL:
                bind_elsewhere(p, node, scope, kind == PY_GLOBAL);
                break;
        case PY_DELETE:
                delete (p, node);
                break;
        default:
                break;
        }
}

void python_enter(void *context, TSNode node, unsigned kind, unsigned parent, uint32_t frame,
                  uint32_t *child_frame)
{
        struct program_walk *walk = context;
        struct program *p = walk->program;
        uint32_t scope = frame & ~TOP;
        bool firm = parent == PY_MODULE ||
                    (frame & TOP && (parent == PY_DECORATED || parent == PY_EXPRESSION_STATEMENT));
        if (p->failed)
                walk->walker.stop = true;
        switch (kind) {
        case PY_IDENTIFIER:
                python_identifier(walk, node, parent, scope);
                break;
        case PY_CALL:
        case PY_ATTRIBUTE:
        case PY_SUBSCRIPT:
        case PY_EXEC:
                /* A default is evaluated where the function is defined. */
                python_mention(walk, node, kind, parent, scope);
                break;
        case PY_IMPORT:
                python_mention(walk, node, kind, parent, scope);
                python_import(p, node, scope, firm);
                break;
        case PY_IMPORT_FROM:
                python_mention(walk, node, kind, parent, scope);
                import_from(p, node, scope, firm);
                break;
        case PY_STRING:
                if (!has_interpolations(p->source, node))
                        *child_frame = WALKER_LEAF;
                if (ts_node_end_byte(node) - ts_node_start_byte(node) > LONG_LITERAL)
                        python_mention(walk, node, kind, parent, scope);
                else
                        mention_for_limit(p, node, kind, parent, scope);
                break;
        case PY_EXPRESSION_STATEMENT:
        case PY_DECORATED:
                *child_frame = parent == PY_MODULE ? frame | TOP : scope;
                break;
        case PY_FUNCTION:
                bind_opaque(p, source_child(p->source, node, FIELD_NAME), scope, firm);
                *child_frame = program_add_scope(p, scope, SCOPE_FUNCTION);
                break;
        case PY_LAMBDA:
        case PY_LIST_COMPREHENSION:
        case PY_SET_COMPREHENSION:
        case PY_DICTIONARY_COMPREHENSION:
        case PY_GENERATOR:
                *child_frame = program_add_scope(p, scope, SCOPE_FUNCTION);
                break;
        case PY_CLASS:
                bind_opaque(p, source_child(p->source, node, FIELD_NAME), scope, firm);
                *child_frame = program_add_scope(p, scope, SCOPE_CLASS);
                break;
        case PY_DEFAULT_PARAMETER:
        case PY_TYPED_DEFAULT_PARAMETER:
        case PY_TYPED_PARAMETER:
        case PY_LIST_SPLAT_PATTERN:
        case PY_DICTIONARY_SPLAT_PATTERN:
                if (parent == PY_PARAMETERS || parent == PY_LAMBDA_PARAMETERS ||
                    parent == PY_TYPED_PARAMETER) {
                        bind_parameter(p, node, kind, scope);
                        /* Names in defaults and types belong to the outer scope. */
                        *child_frame = p->scopes[scope].parent;
                }
                break;
        default:
                bind_by(p, node, kind, scope, firm);
        }
}
