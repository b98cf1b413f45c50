/* scan/javascript/bind.c -- the first pass over a JavaScript text: scopes, bindings, and nodes for the
 * second pass. */
#include <string.h>

#include "scan/javascript/javascript.h"

#define LONG_LITERAL 1000
#define TOP (1u << 31) /* flag of a frame, beside the scope: a declaration at the top level */

struct target {
        TSNode value;
        enum binding_kind how;
        const char *member; /* of BINDING_MEMBER */
        size_t member_len;
        uint32_t scope;
        bool firm;
        bool assigned; /* an assignment: the name belongs to the scope of its declaration */
};

static void javascript_bind(struct program *p, TSNode name, const struct target *t)
{
        size_t len;
        const char *text = source_text(p->source, name, &len);
        program_bind(p, text, len, t->assigned ? program_owner(p, text, len, t->scope) : t->scope,
                     &(struct binding){.kind = ts_node_is_null(t->value) ? BINDING_OPAQUE : t->how,
                                       .firm = t->firm,
                                       .node = t->value,
                                       .scope = t->scope,
                                       .text = t->member,
                                       .len = (uint32_t)t->member_len,
                                       .position = ts_node_start_byte(name)});
}

static void bind_opaque(struct program *p, TSNode name, uint32_t scope, bool firm)
{
        if (!ts_node_is_null(name))
                javascript_bind(p, name,
                                &(struct target){.how = BINDING_OPAQUE, .scope = scope, .firm = firm});
}

/* {exec, spawn: s} = value */
static void bind_object(struct program *p, TSNode pattern, const struct target *t)
{
        TSNode parts[32], name;
        size_t n = source_children(p->source, pattern, parts, 32);
        struct target member = *t;
        for (size_t i = 0; i < n; i++) {
                TSNode key = parts[i];
                name = parts[i];
                switch (source_kind(p->source, parts[i])) {
                case JS_SHORTHAND_PATTERN:
                        break;
                case JS_OBJECT_ASSIGNMENT_PATTERN:
                        key = name = source_child(p->source, parts[i], FIELD_LEFT);
                        break;
                case JS_PAIR_PATTERN:
                        key = source_child(p->source, parts[i], FIELD_KEY);
                        name = source_child(p->source, parts[i], FIELD_VALUE);
                        if (source_kind(p->source, name) == JS_ASSIGNMENT_PATTERN)
                                name = source_child(p->source, name, FIELD_LEFT);
                        break;
                default:
                        continue;
                }
                unsigned kind = source_kind(p->source, name);
                if (kind != JS_IDENTIFIER && kind != JS_SHORTHAND_PATTERN)
                        continue;
                member.how = t->how == BINDING_VALUE ? BINDING_MEMBER : BINDING_OPAQUE;
                member.member = source_text(p->source, key, &member.member_len);
                if (source_kind(p->source, key) == JS_STRING && member.member_len >= 2) {
                        member.member++;
                        member.member_len -= 2;
                }
                javascript_bind(p, name, &member);
        }
}

static void bind_target(struct program *p, TSNode pattern, const struct target *t)
{
        TSNode parts[32];
        size_t n;
        if (ts_node_is_null(pattern))
                return;
        switch (source_kind(p->source, pattern)) {
        case JS_IDENTIFIER:
                javascript_bind(p, pattern, t);
                break;
        case JS_OBJECT_PATTERN:
                bind_object(p, pattern, t);
                break;
        case JS_ARRAY_PATTERN:
        case JS_REST_PATTERN:
        case JS_FORMAL_PARAMETERS:
                n = source_children(p->source, pattern, parts, 32);
                for (size_t i = 0; i < n; i++) {
                        unsigned kind = source_kind(p->source, parts[i]);
                        struct target part = {.scope = t->scope, .firm = t->firm, .how = BINDING_OPAQUE};
                        TSNode name = parts[i];
                        if (kind == JS_ASSIGNMENT_PATTERN) {
                                /* Or a name with a default. */
                                name = source_child(p->source, parts[i], FIELD_LEFT);
                                part.value = source_child(p->source, parts[i], FIELD_RIGHT);
                                part.how = BINDING_VALUE;
                                if (source_kind(p->source, name) == JS_IDENTIFIER) {
                                        bind_opaque(p, name, t->scope, t->firm);
                                        javascript_bind(p, name, &part);
                                }
                                continue;
                        }
                        if (kind == JS_REST_PATTERN && source_children(p->source, name, &name, 1) == 1)
                                kind = source_kind(p->source, name);
                        if (kind == JS_IDENTIFIER)
                                javascript_bind(p, name, &part);
                        else if (kind == JS_OBJECT_PATTERN)
                                bind_object(p, name, &part);
                }
                break;
        default:
                break;
        }
}

/* import a, {b as c}, * as d from 'x' */
static void javascript_import(struct program *p, TSNode node, uint32_t scope)
{
        TSNode source = source_child(p->source, node, FIELD_SOURCE), clause[4], parts[4], names[64];
        if (ts_node_is_null(source))
                return;
        struct values text = {0}, module = {0};
        javascript_string(p, source, scope, &text);
        if (text.n == 1 && text.v[0].text)
                javascript_add_module(p, text.v[0].text, text.v[0].len, &module);
        if (module.n != 1 || source_children(p->source, node, clause, 4) == 0)
                return;
        struct binding b = {.kind = BINDING_NAME, .firm = true, .position = ts_node_start_byte(node)};
        size_t n = source_children(p->source, clause[0], parts, 4), len;
        const char *name;
        for (size_t i = 0; i < n; i++) {
                TSNode local = parts[i];
                unsigned kind = source_kind(p->source, parts[i]);
                if (kind == JS_NAMED_IMPORTS) {
                        size_t n_names = source_children(p->source, parts[i], names, 64);
                        for (size_t k = 0; k < n_names; k++) {
                                TSNode from = source_child(p->source, names[k], FIELD_NAME),
                                       alias = source_child(p->source, names[k], FIELD_ALIAS);
                                struct values full = {0};
                                if (ts_node_is_null(from)) /* {default as x} */
                                        values_add(&full, &module.v[0]);
                                else {
                                        name = source_text(p->source, from, &len);
                                        javascript_add_member(p, &module.v[0], name, len, &full);
                                }
                                if (ts_node_is_null(alias))
                                        alias = from;
                                if (full.n != 1 || ts_node_is_null(alias))
                                        continue;
                                b.text = full.v[0].text;
                                b.len = full.v[0].len;
                                name = source_text(p->source, alias, &len);
                                program_bind(p, name, len, scope, &b);
                        }
                        continue;
                }
                if (kind == JS_NAMESPACE_IMPORT && source_children(p->source, parts[i], &local, 1) == 0)
                        continue;
                b.text = module.v[0].text;
                b.len = module.v[0].len;
                name = source_text(p->source, local, &len);
                program_bind(p, name, len, scope, &b);
        }
}

static void javascript_identifier(struct program_walk *walk, TSNode node, unsigned kind, unsigned parent,
                                  uint32_t scope)
{
        struct program *p = walk->program;
        const struct source *source = p->source;
        const struct walker *walker = &walk->walker;
        switch (parent) {
        case JS_MEMBER: /* checked as a whole, like a call */
                return;
        case JS_CALL:
                if (walker_at(walker, source, FIELD_FUNCTION))
                        return;
                break;
        case JS_NEW:
                if (walker_at(walker, source, FIELD_CONSTRUCTOR))
                        return;
                break;
        case JS_DECLARATOR:
                if (walker_at(walker, source, FIELD_NAME))
                        return;
                break;
        case JS_ASSIGNMENT:
        case JS_AUGMENTED:
        case JS_FOR_IN:
        case JS_ASSIGNMENT_PATTERN:
        case JS_OBJECT_ASSIGNMENT_PATTERN:
                if (walker_at(walker, source, FIELD_LEFT))
                        return;
                break;
        case JS_FUNCTION_DECLARATION:
        case JS_GENERATOR_DECLARATION:
        case JS_FUNCTION:
        case JS_GENERATOR:
        case JS_CLASS_DECLARATION:
        case JS_CLASS:
                if (walker_at(walker, source, FIELD_NAME))
                        return;
                break;
        case JS_ARROW:
        case JS_CATCH:
                if (walker_at(walker, source, FIELD_PARAMETER))
                        return;
                break;
        case JS_PAIR_PATTERN:
        case JS_ARRAY_PATTERN:
        case JS_REST_PATTERN:
        case JS_FORMAL_PARAMETERS:
        case JS_IMPORT_CLAUSE:
        case JS_IMPORT_SPECIFIER:
        case JS_NAMESPACE_IMPORT:
        case JS_EXPORT_SPECIFIER:
        case JS_UPDATE:
                return;
        default:
                break;
        }
        program_add_mention(
                p, &(struct mention){
                           .node = node, .scope = scope, .kind = (uint8_t)kind, .parent = (uint8_t)parent});
}

static void javascript_mention(struct program_walk *walk, TSNode node, unsigned kind, unsigned parent,
                               uint32_t scope)
{
        const struct source *source = walk->program->source;
        const struct walker *walker = &walk->walker;
        program_add_mention(
                walk->program,
                &(struct mention){.node = node,
                                  .scope = scope,
                                  .kind = (uint8_t)kind,
                                  .called =
                                          (parent == JS_CALL && walker_at(walker, source, FIELD_FUNCTION)) ||
                                          (parent == JS_NEW && walker_at(walker, source, FIELD_CONSTRUCTOR)),
                                  .parent = (uint8_t)parent});
}

static uint32_t enter_function(struct program *p, TSNode node, unsigned kind, uint32_t scope, bool firm)
{
        TSNode name = source_child(p->source, node, FIELD_NAME), parameter;
        if (kind == JS_FUNCTION_DECLARATION || kind == JS_GENERATOR_DECLARATION)
                bind_opaque(p, name, scope, firm);
        uint32_t inner = program_add_scope(p, scope, SCOPE_FUNCTION);
        if (kind == JS_FUNCTION || kind == JS_GENERATOR)
                bind_opaque(p, name, inner, false);
        if (kind == JS_ARROW) {
                parameter = source_child(p->source, node, FIELD_PARAMETER);
                bind_opaque(p, parameter, inner, false);
        }
        return inner;
}

/* Records the names that a declaration, an assignment or a parameter list binds. */
static void enter_binding(struct program *p, TSNode node, unsigned kind, uint32_t scope, bool firm)
{
        struct target target = {.how = BINDING_VALUE, .scope = scope, .firm = firm};
        switch (kind) {
        case JS_DECLARATOR:
                target.value = source_child(p->source, node, FIELD_VALUE);
                bind_target(p, source_child(p->source, node, FIELD_NAME), &target);
                break;
        case JS_ASSIGNMENT:
                target.value = source_child(p->source, node, FIELD_RIGHT);
                target.assigned = true;
                target.firm = false;
                bind_target(p, source_child(p->source, node, FIELD_LEFT), &target);
                break;
        case JS_AUGMENTED:
                target.assigned = true;
                target.firm = false;
                bind_target(p, source_child(p->source, node, FIELD_LEFT), &target);
                break;
        case JS_FOR_IN:
                target.value = source_child(p->source, node, FIELD_RIGHT);
                target.how = BINDING_ELEMENTS;
                target.firm = false;
                bind_target(p, source_child(p->source, node, FIELD_LEFT), &target);
                break;
        case JS_CATCH:
                target.firm = false;
                bind_target(p, source_child(p->source, node, FIELD_PARAMETER), &target);
                break;
        case JS_FORMAL_PARAMETERS:
                target.firm = false;
                bind_target(p, node, &target);
                break;
        case JS_CLASS_DECLARATION:
                bind_opaque(p, source_child(p->source, node, FIELD_NAME), scope, firm);
                break;
        default:
                break;
        }
}

void javascript_enter(void *context, TSNode node, unsigned kind, unsigned parent, uint32_t frame,
                      uint32_t *child_frame)
{
        struct program_walk *walk = context;
        struct program *p = walk->program;
        uint32_t scope = frame & ~TOP;
        bool firm = parent == JS_PROGRAM || (frame & TOP && parent == JS_LEXICAL) ||
                    (frame & TOP && parent == JS_VARIABLE);
        if (p->failed)
                walk->walker.stop = true;
        switch (kind) {
        case JS_IDENTIFIER:
        case JS_SHORTHAND:
                javascript_identifier(walk, node, kind, parent, scope);
                break;
        case JS_CALL:
        case JS_NEW:
        case JS_MEMBER:
        case JS_SUBSCRIPT:
                javascript_mention(walk, node, kind, parent, scope);
                break;
        case JS_STRING:
                if (!p->source->has_error)
                        *child_frame = WALKER_LEAF;
                /* fall through */
        case JS_TEMPLATE:
                if (ts_node_end_byte(node) - ts_node_start_byte(node) > LONG_LITERAL)
                        javascript_mention(walk, node, kind, parent, scope);
                break;
        case JS_IMPORT_STATEMENT:
                javascript_mention(walk, node, kind, parent, scope);
                javascript_import(p, node, scope);
                break;
        case JS_EXPORT_STATEMENT:
                javascript_mention(walk, node, kind, parent, scope);
                break;
        case JS_LEXICAL:
        case JS_VARIABLE:
                *child_frame = parent == JS_PROGRAM ? frame | TOP : scope;
                break;
        case JS_FUNCTION_DECLARATION:
        case JS_GENERATOR_DECLARATION:
        case JS_FUNCTION:
        case JS_GENERATOR:
        case JS_ARROW:
        case JS_METHOD:
                *child_frame = enter_function(p, node, kind, scope, firm);
                break;
        default:
                enter_binding(p, node, kind, scope, firm);
                break;
        }
}
