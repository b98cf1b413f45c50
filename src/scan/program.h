/* scan/program.h -- what is known about the names in a text: which scopes there are, what each name is bound
 * to in each, and where names are used.
 *
 * A first walk collects this; then everything that was mentioned is looked at, with all bindings known,
 * because a function may use what is bound further down.  Values of bindings are worked out when somebody
 * asks and kept.  The order of execution is not followed: a name bound twice may be either. */
#pragma once
#include "scan/arena.h"
#include "scan/report.h"
#include "scan/source.h"
#include "scan/value.h"

enum scope_kind { SCOPE_MODULE, SCOPE_FUNCTION, SCOPE_CLASS };

enum binding_kind {
        BINDING_OPAQUE,   /* to something that we know nothing of */
        BINDING_VALUE,    /* to the value of node */
        BINDING_MEMBER,   /* to a member of the value of node: text, len */
        BINDING_ELEMENTS, /* to the elements of the value of node, one after the other */
        BINDING_NAME,     /* to what has this full name: an import */
        BINDING_OUTER,    /* not here: in the scope given (Python's global and nonlocal) */
};

struct binding {
        enum binding_kind kind;
        bool firm;         /* at the top of the module, unconditionally */
        bool busy, done;   /* its value is being, or was, worked out */
        uint32_t position; /* in the text */
        uint32_t scope;    /* of node, or the other one */
        uint32_t next;     /* of the same name in the same scope; 0: none */
        const char *text;
        uint32_t len;
        TSNode node;
        const struct values *values; /* NULL: anything */
};

/* A node that the second look is for. */
struct mention {
        TSNode node;
        uint32_t scope;
        uint8_t kind;
        bool called;    /* it is what a call calls */
        bool limit;     /* only for python_limit() */
        uint8_t parent; /* its kind */
};

struct program {
        struct source *source;
        const struct program_language *language;
        struct report *report;
        const struct scan_rules *rules;
        struct scan_inside *inside;
        struct arena arena;
        unsigned depth; /* of evaluate() */
        uint32_t steps; /* what may still be evaluated */
        int failed;     /* -ENOMEM, -E2BIG */

        struct scope {
                uint32_t parent;
                enum scope_kind kind;
        } * scopes;
        struct name {
                const char *text;
                uint32_t len, hash;
                bool deleted; /* somewhere, so that a name of an outer scope may be seen again */
        } * names;
        struct binding *bindings; /* the first is not used */
        struct mention *mentions;
        uint32_t n_scopes, n_names, n_bindings, n_mentions;
        uint32_t scopes_size, names_size, bindings_size, mentions_size;
        uint32_t *name_index, name_index_size;
        struct bound {
                uint32_t name, scope, first; /* binding; 0: the place is free */
                uint32_t firm;               /* where it is first bound firmly */
                uint32_t n;                  /* how often it is bound */
                const struct values *values; /* of all its bindings, once they are known */
        } * bound;
        uint32_t n_bound, bound_size;

        const char *stars[8]; /* modules all of whose names were imported */
        unsigned n_stars;
};

/* ---- a whole scan of a language that has scopes ---- */

struct program_job;

/* Limits and counters of one scan, shared by the text and all code in its constants. */
struct scan_inside {
        struct budget *budget;
        unsigned level; /* how deep the code is nested in constants of other code */
        unsigned texts; /* how many nested texts were scanned */
        size_t bytes;   /* their length together */
        /* Scans a nested text in any language, within these limits.  0 or -ENOMEM.  Set by scan(). */
        int (*scan)(enum scan_language language, const struct program_job *job);
};

/* A text to scan. */
struct program_job {
        const char *text;
        size_t len;
        struct report *report;
        const struct scan_rules *rules;
        struct scan_inside *inside;
};

struct program_language {
        const struct grammar *grammar;
        void (*enter)(void *walk, TSNode node, unsigned kind, unsigned parent, uint32_t frame,
                      uint32_t *child_frame);
        void (*check)(struct program *program, const struct mention *mention);
        void (*evaluate)(struct program *program, TSNode node, uint32_t scope, struct values *ret);
        /* A member of something, added to *ret under the name that the language's tables have for it. */
        void (*add_member)(struct program *program, const struct value *object, const char *member,
                           size_t len, struct values *ret);
        bool (*is_builtin)(const char *name, size_t len);
        bool (*is_harmless_error)(const struct source *source, TSNode node); /* NULL: none is */
};

/* The context of enter(). */
struct program_walk {
        struct program *program;
        struct walker walker;
};

int program_scan(const struct program_language *language, const struct program_job *job);

/* Says that a text could not be read, at its beginning. */
void program_unparsable(const struct program_job *job);

/* Scans code that was found in a constant, where node stands. */
void program_inside(struct program *program, enum scan_language language, const char *text, size_t len,
                    TSNode node);

int program_init(struct program *ret, struct source *source, const struct program_language *language,
                 const struct program_job *job);
void program_done(struct program *program);

uint32_t program_add_scope(struct program *program, uint32_t parent, enum scope_kind kind);
void program_add_mention(struct program *program, const struct mention *mention);
void program_bind(struct program *program, const char *name, size_t len, uint32_t scope,
                  const struct binding *binding);
/* The nearest scope outward in which the name is bound; the module without one. */
uint32_t program_owner(struct program *program, const char *name, size_t len, uint32_t scope);
void program_delete(struct program *program, const char *name, size_t len);
void program_add_star(struct program *program, const char *module);

/* What the identifier may be where it stands: what it is bound to there, or else the name itself. */
void program_lookup(struct program *program, TSNode identifier, uint32_t scope, struct values *ret);
/* The same for a name of the module. */
void program_lookup_global(struct program *program, const char *name, size_t len, struct values *ret);

/* The values of an expression; *ret is filled in. */
void program_evaluate(struct program *program, TSNode node, uint32_t scope, struct values *ret);
/* The values of the elements of a list, each added to *ret. */
void program_elements(struct program *program, const struct value *list, struct values *ret);

/* The values of the element of a list at an index, which is a number; added to *ret. */
void program_element(struct program *program, const struct value *list, const struct value *index,
                     struct values *ret);

/* Its elements, one behind the other, with glue between them. */
void program_join(struct program *program, const struct value *list, const struct values *glue,
                  struct values *ret);

/* A copy with a NUL at its end, or NULL. */
const char *program_copy(struct program *program, const char *text, size_t len);
