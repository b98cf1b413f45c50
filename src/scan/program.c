#include "scan/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scan/names.h"

#define STEPS_MAX 3000000u
#define DEPTH_MAX 24
#define ENTRIES_MAX (1u << 20)
#define ELEMENTS_MAX 64 /* elements that are joined at most */
#define OPERANDS_MAX 512
#define BINDINGS_MAX 16 /* bindings of a name in a scope */
#define LEVELS_MAX 1000 /* nesting of functions */

/* Makes room for one more entry; otherwise marks the program as too large. */
static bool scan_program_grow(struct program *p, void **array, uint32_t *size, uint32_t n, size_t each)
{
        if (n < *size)
                return true;
        uint32_t more = *size > 0 ? *size * 2 : 256;
        void *larger = more <= ENTRIES_MAX ? realloc(*array, more * each) : NULL;
        if (!larger) {
                p->failed = more <= ENTRIES_MAX ? -ENOMEM : -E2BIG;
                return false;
        }
        *array = larger;
        *size = more;
        return true;
}

int program_init(struct program *ret, struct source *source, const struct program_language *language,
                 const struct program_job *job)
{
        *ret = (struct program){.source = source,
                                .language = language,
                                .report = job->report,
                                .rules = job->rules,
                                .inside = job->inside,
                                .steps = STEPS_MAX};
        program_add_scope(ret, 0, SCOPE_MODULE);
        if (scan_program_grow(ret, (void **)&ret->bindings, &ret->bindings_size, 0, sizeof *ret->bindings))
                ret->n_bindings = 1;
        return ret->failed;
}

void program_done(struct program *p)
{
        free(p->scopes);
        free(p->names);
        free(p->bindings);
        free(p->mentions);
        free(p->name_index);
        free(p->bound);
        arena_done(&p->arena);
}

uint32_t program_add_scope(struct program *p, uint32_t parent, enum scope_kind kind)
{
        if (!scan_program_grow(p, (void **)&p->scopes, &p->scopes_size, p->n_scopes, sizeof *p->scopes))
                return parent;
        p->scopes[p->n_scopes] = (struct scope){parent, kind};
        return p->n_scopes++;
}

void program_add_mention(struct program *p, const struct mention *mention)
{
        if (scan_program_grow(p, (void **)&p->mentions, &p->mentions_size, p->n_mentions,
                              sizeof *p->mentions))
                p->mentions[p->n_mentions++] = *mention;
}

const char *program_copy(struct program *p, const char *text, size_t len)
{
        char *copy = len <= VALUE_TEXT_MAX ? arena_alloc(&p->arena, len + 1) : NULL;
        if (copy)
                memcpy(copy, text, len);
        return copy;
}

void program_add_star(struct program *p, const char *module)
{
        if (p->n_stars < sizeof p->stars / sizeof *p->stars)
                p->stars[p->n_stars++] = module;
}

/* ---- names, each with a number ---- */

static uint32_t scan_program_hash(const char *text, size_t len)
{
        uint32_t h = 2166136261u;
        for (size_t i = 0; i < len; i++)
                h = (h ^ (unsigned char)text[i]) * 16777619u;
        return h;
}

static void place_name(struct program *p, uint32_t id)
{
        uint32_t mask = p->name_index_size - 1, at = p->names[id].hash & mask;
        while (p->name_index[at])
                at = (at + 1) & mask;
        p->name_index[at] = id + 1;
}

static bool grow_index(struct program *p)
{
        if (p->n_names * 2 < p->name_index_size)
                return true;
        uint32_t size = p->name_index_size > 0 ? p->name_index_size * 2 : 1024;
        uint32_t *index = calloc(size, sizeof *index);
        if (!index) {
                p->failed = -ENOMEM;
                return false;
        }
        free(p->name_index);
        p->name_index = index;
        p->name_index_size = size;
        for (uint32_t i = 0; i < p->n_names; i++)
                place_name(p, i);
        return true;
}

/* Returns the number of a name, from 1; 0: never bound, or no room. */
static uint32_t find_name(struct program *p, const char *text, size_t len, bool add)
{
        uint32_t h = scan_program_hash(text, len), mask = p->name_index_size - 1;
        for (uint32_t at = h & mask; p->name_index_size > 0 && p->name_index[at]; at = (at + 1) & mask) {
                const struct name *name = &p->names[p->name_index[at] - 1];
                if (name->hash == h && name->len == len && !memcmp(name->text, text, len))
                        return p->name_index[at];
        }
        if (!add || !scan_program_grow(p, (void **)&p->names, &p->names_size, p->n_names, sizeof *p->names) ||
            !grow_index(p))
                return 0;
        p->names[p->n_names] = (struct name){.text = text, .len = (uint32_t)len, .hash = h};
        place_name(p, p->n_names);
        return ++p->n_names;
}

void program_delete(struct program *p, const char *name, size_t len)
{
        uint32_t id = find_name(p, name, len, true);
        if (id)
                p->names[id - 1].deleted = true;
}

/* ---- bindings ---- */

static struct bound *find_bound(struct program *p, uint32_t name, uint32_t scope)
{
        uint32_t mask = p->bound_size - 1, at = (name * 2654435761u ^ scope * 40503u) & mask;
        while (p->bound[at].first && (p->bound[at].name != name || p->bound[at].scope != scope))
                at = (at + 1) & mask;
        return &p->bound[at];
}

static bool grow_bound(struct program *p)
{
        if (p->n_bound * 2 < p->bound_size)
                return true;
        struct bound *old = p->bound;
        uint32_t n = p->bound_size, size = n > 0 ? n * 2 : 1024;
        struct bound *bound = calloc(size, sizeof *bound);
        if (!bound) {
                p->failed = -ENOMEM;
                return false;
        }
        p->bound = bound;
        p->bound_size = size;
        for (uint32_t i = 0; i < n; i++)
                if (old[i].first)
                        *find_bound(p, old[i].name, old[i].scope) = old[i];
        free(old);
        return true;
}

void program_bind(struct program *p, const char *name, size_t len, uint32_t scope,
                  const struct binding *binding)
{
        uint32_t id = find_name(p, name, len, true);
        if (!id || !grow_bound(p) ||
            !scan_program_grow(p, (void **)&p->bindings, &p->bindings_size, p->n_bindings,
                               sizeof *p->bindings))
                return;
        struct bound *bound = find_bound(p, id, scope);
        if (bound->first && p->bindings[bound->first].kind == BINDING_OUTER &&
            p->bindings[bound->first].scope != scope) {
                scope = p->bindings[bound->first].scope;
                bound = find_bound(p, id, scope);
        }
        if (!bound->first) {
                *bound = (struct bound){.name = id, .scope = scope, .firm = UINT32_MAX};
                p->n_bound++;
        }
        if (binding->firm && binding->position < bound->firm)
                bound->firm = binding->position;
        /* A name with more bindings may be anything. */
        if (bound->n++ >= BINDINGS_MAX)
                return;
        p->bindings[p->n_bindings] = *binding;
        p->bindings[p->n_bindings].next = bound->first;
        bound->first = p->n_bindings++;
}

uint32_t program_owner(struct program *p, const char *name, size_t len, uint32_t scope)
{
        uint32_t id = find_name(p, name, len, false);
        if (!id || p->bound_size == 0)
                return 0;
        for (unsigned level = 0; scope != 0 && level < LEVELS_MAX; level++) {
                if (find_bound(p, id, scope)->first)
                        return scope;
                scope = p->scopes[scope].parent;
        }
        return 0;
}

/* ---- values ---- */

/* Returns a permanent copy, or NULL without room. Most names may be anything and share one copy. */
static const struct values *scan_program_keep(struct program *p, const struct values *values)
{
        static const struct values anything = {.other = true};
        if (values->n == 0 && values->other)
                return &anything;
        struct values *copy = arena_alloc(&p->arena, sizeof *copy);
        if (copy)
                *copy = *values;
        return copy;
}

void program_evaluate(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        values_clear(ret);
        if (ts_node_is_null(node) || p->depth >= DEPTH_MAX || p->steps == 0) {
                ret->other = true;
                return;
        }
        if (--p->steps % 4096 == 0 && budget_over(p->inside->budget))
                p->steps = 0; /* so all pending evaluations end, too */
        p->depth++;
        p->language->evaluate(p, node, scope, ret);
        p->depth--;
        if (ret->n == 0)
                ret->other = true;
}

void program_elements(struct program *p, const struct value *list, struct values *ret)
{
        /* More elements would only set "or others". */
        TSNode children[VALUES_MAX + 1];
        struct values element;
        size_t n = source_children(p->source, list->node, children, VALUES_MAX + 1);
        for (size_t i = 0; i < n; i++) {
                program_evaluate(p, children[i], list->scope, &element);
                values_add_all(ret, &element);
        }
}

void program_element(struct program *p, const struct value *list, const struct value *index,
                     struct values *ret)
{
        TSNode children[32];
        struct values values = {.other = true};
        size_t n = source_children(p->source, list->node, children, 32),
               i = index->text ? (size_t)strtoul(index->text, NULL, 10) : n;
        if (i < n)
                program_evaluate(p, children[i], list->scope, &values);
        values_add_all(ret, &values);
}

void program_join(struct program *p, const struct value *list, const struct values *glue, struct values *ret)
{
        TSNode children[ELEMENTS_MAX];
        struct values whole = {0}, part;
        size_t n = source_children(p->source, list->node, children, ELEMENTS_MAX);
        values_add(&whole, &(struct value){.kind = VALUE_TEXT, .text = ""});
        for (size_t i = 0; i < n; i++) {
                if (i > 0)
                        values_append(&whole, &p->arena, JOIN_CONCAT, glue);
                program_evaluate(p, children[i], list->scope, &part);
                values_append(&whole, &p->arena, JOIN_CONCAT, &part);
        }
        whole.other |= n == ELEMENTS_MAX;
        values_add_all(ret, &whole);
}

void program_sum(struct program *p, TSNode node, unsigned kind, uint32_t scope,
                 void (*add)(struct program *p, struct values *left, const struct values *right),
                 struct values *ret)
{
        TSNode operands[OPERANDS_MAX], sign;
        struct values whole, part;
        size_t n = 0;

        while (n < OPERANDS_MAX && source_kind(p->source, node) == kind &&
               (sign = source_child(p->source, node, FIELD_OPERATOR), !ts_node_is_null(sign)) &&
               source_is(p->source, sign, "+")) {
                operands[n++] = source_child(p->source, node, FIELD_RIGHT);
                node = source_child(p->source, node, FIELD_LEFT);
        }
        program_evaluate(p, node, scope, &whole);
        while (n > 0) {
                program_evaluate(p, operands[--n], scope, &part);
                if (!values_are_number(&whole) || !values_are_number(&part))
                        values_append(&whole, &p->arena, JOIN_CONCAT, &part);
                else if (add)
                        add(p, &whole, &part);
                else
                        whole = (struct values){.n = 1, .v[0].kind = VALUE_NUMBER};
        }
        values_add_all(ret, &whole);
}

/* ---- calls ---- */

bool program_argument(struct program *p, const struct arguments *arguments, size_t position, const char *name,
                      uint32_t scope, struct values *ret)
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

void program_members(struct program *p, const struct values *objects, const struct values *names,
                     struct values *ret)
{
        ret->other |= objects->other || names->other;
        for (unsigned i = 0; i < objects->n; i++)
                for (unsigned k = 0; k < names->n; k++) {
                        const struct value *name = &names->v[k];
                        if (name->kind == VALUE_TEXT && name->text)
                                p->language->add_member(p, &objects->v[i], name->text, name->len, ret);
                        else
                                ret->other = true;
                }
}

/* Adds the first argument with the others appended to it as parts of a path. */
static void program_call_path(struct program *p, const struct arguments *arguments, uint32_t scope,
                              struct values *ret)
{
        struct values path, part;

        program_argument(p, arguments, 0, NULL, scope, &path);
        for (size_t i = 1; i < arguments->n; i++) {
                program_argument(p, arguments, i, NULL, scope, &part);
                values_append(&path, &p->arena, JOIN_PATH, &part);
        }
        values_add_all(ret, &path);
        ret->other |= arguments->other;
}

bool program_call(struct program *p, const struct known *known, const struct arguments *arguments,
                  uint32_t scope, struct values *ret)
{
        static const enum transform transforms[] = {
                [RESULT_BASE64] = TRANSFORM_BASE64,
                [RESULT_HEX] = TRANSFORM_HEX,
                [RESULT_DECODED] = TRANSFORM_DECODE,
                [RESULT_REVERSED] = TRANSFORM_REVERSE,
        };
        struct values first, second;

        switch (known->result) {
        case RESULT_SAME:
                program_argument(p, arguments, 0, NULL, scope, &first);
                values_add_all(ret, &first);
                return true;
        case RESULT_MEMBER:
                program_argument(p, arguments, 0, NULL, scope, &first);
                program_argument(p, arguments, 1, "name", scope, &second);
                program_members(p, &first, &second, ret);
                return true;
        case RESULT_BASE64:
        case RESULT_HEX:
        case RESULT_DECODED:
        case RESULT_REVERSED:
                program_argument(p, arguments, 0, NULL, scope, &first);
                values_transform(ret, &p->arena, transforms[known->result], &first);
                return true;
        case RESULT_JOINED_PATH:
                program_call_path(p, arguments, scope, ret);
                return true;
        case RESULT_NUMBER:
                values_add(ret, &(struct value){.kind = VALUE_NUMBER});
                return true;
        default:
                return false;
        }
}

/* ---- names ---- */

static void evaluate_binding(struct program *p, uint32_t number, struct values *ret)
{
        struct binding b = p->bindings[number];
        struct values of;
        switch (b.kind) {
        case BINDING_VALUE:
                program_evaluate(p, b.node, b.scope, ret);
                break;
        case BINDING_MEMBER:
                program_evaluate(p, b.node, b.scope, &of);
                ret->other = of.other;
                for (unsigned i = 0; i < of.n; i++)
                        p->language->add_member(p, &of.v[i], b.text, b.len, ret);
                break;
        case BINDING_ELEMENTS:
                program_evaluate(p, b.node, b.scope, &of);
                ret->other = of.other;
                for (unsigned i = 0; i < of.n; i++) {
                        if (of.v[i].kind == VALUE_LIST)
                                program_elements(p, &of.v[i], ret);
                        else if (of.v[i].kind == VALUE_NUMBER)
                                values_add(ret, &of.v[i]); /* of range() */
                        else
                                ret->other = true;
                }
                break;
        case BINDING_NAME:
                values_add(ret, &(struct value){.kind = VALUE_NAME, .text = b.text, .len = b.len});
                break;
        default:
                ret->other = true;
        }
}

static void add_binding(struct program *p, uint32_t number, struct values *ret)
{
        struct binding *b = &p->bindings[number];
        struct values values;
        if (b->done) {
                if (b->values)
                        values_add_all(ret, b->values);
                else
                        ret->other = true;
                return;
        }
        /* A cycle, or a chain that is too long. */
        if (b->busy || p->depth >= DEPTH_MAX) {
                ret->other = true;
                return;
        }
        b->busy = true;
        bool deep = p->depth > DEPTH_MAX / 2;
        values_clear(&values);
        evaluate_binding(p, number, &values);
        b->busy = false;
        values_add_all(ret, &values);
        if (deep)
                return; /* possibly incomplete: an evaluation from further up gets more */
        b->done = true;
        if (values.n > 0)
                b->values = scan_program_keep(p, &values);
}

/* All values of a name in a scope. */
static void add_bound(struct program *p, struct bound *bound, struct values *ret)
{
        struct values values;
        if (bound->values) {
                values_add_all(ret, bound->values);
                return;
        }
        values_clear(&values);
        values.other = bound->n > BINDINGS_MAX;
        bool deep = p->depth > DEPTH_MAX / 2, busy = false;
        uint32_t name = bound->name, scope = bound->scope;
        for (uint32_t i = bound->first; i; i = p->bindings[i].next) {
                busy |= p->bindings[i].busy;
                if (p->bindings[i].kind != BINDING_OUTER)
                        add_binding(p, i, &values);
        }
        values_add_all(ret, &values);
        bound = find_bound(p, name, scope);
        if (!deep && !busy)
                bound->values = scan_program_keep(p, &values);
}

static void add_own_name(struct program *p, const char *text, size_t len, struct values *ret)
{
        values_add_text(ret, &p->arena, VALUE_NAME, text, len);
        for (unsigned i = 0; i < p->n_stars; i++) {
                const struct value module = {
                        .kind = VALUE_NAME, .text = p->stars[i], .len = (uint32_t)strlen(p->stars[i])};
                values_add_member(ret, &p->arena, &module, text, len);
        }
}

static void lookup(struct program *p, const char *text, size_t len, uint32_t scope, uint32_t position,
                   struct values *ret)
{
        uint32_t id = find_name(p, text, len, false), origin = scope;
        bool found = false;
        values_clear(ret);
        for (unsigned level = 0; id && p->bound_size > 0; level++) {
                const struct scope *s = &p->scopes[scope];
                struct bound *bound = find_bound(p, id, scope);
                bool visible = s->kind != SCOPE_CLASS || scope == origin;
                if (bound->first && visible) {
                        found = true;
                        /* Outer scopes cannot be meant. */
                        bool hides = (s->kind == SCOPE_FUNCTION &&
                                      p->bindings[bound->first].kind != BINDING_OUTER) ||
                                     (bound->firm < position && !p->names[id - 1].deleted);
                        add_bound(p, bound, ret);
                        if (hides)
                                return;
                }
                if (scope == 0)
                        break;
                if (level > LEVELS_MAX) {
                        ret->other = true;
                        return;
                }
                scope = s->parent;
        }
        /* A builtin may be meant before or after another binding of its name; other names do not exist by
         * themselves. A name that is never bound is taken literally: an earlier run of the same
         * interpreter may have imported it. */
        if (!found || p->language->is_builtin(text, len))
                add_own_name(p, text, len, ret);
}

void program_lookup(struct program *p, TSNode identifier, uint32_t scope, struct values *ret)
{
        size_t len;
        const char *text = source_text(p->source, identifier, &len);
        lookup(p, text, len, scope, ts_node_start_byte(identifier), ret);
}

void program_lookup_global(struct program *p, const char *name, size_t len, struct values *ret)
{
        lookup(p, name, len, 0, UINT32_MAX, ret);
}
