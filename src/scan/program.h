/* scan/program.h -- the names in a text: its scopes, the bindings of each name, and the uses of names.
 *
 * A first pass collects these; a second pass checks all uses with all bindings known, because a function
 * may use names that are bound later in the text. Values of bindings are evaluated on demand and cached.
 * The order of execution is not followed: a name that is bound twice may have either value. */
#pragma once
#include "scan/arena.h"
#include "scan/report.h"
#include "scan/source.h"
#include "scan/value.h"

enum scope_kind { SCOPE_MODULE, SCOPE_FUNCTION, SCOPE_CLASS };

enum binding_kind {
        BINDING_OPAQUE,   /* an unknown value */
        BINDING_VALUE,    /* the value of node */
        BINDING_MEMBER,   /* a member of the value of node: text, len */
        BINDING_ELEMENTS, /* each element of the value of node */
        BINDING_NAME,     /* an object with this full name: an import */
        BINDING_OUTER,    /* bound in another scope (Python's global and nonlocal) */
};

struct binding {
        enum binding_kind kind;
        bool firm;         /* at the top of the module, unconditionally */
        bool busy, done;   /* its value is being evaluated; was evaluated */
        uint32_t position; /* in the text */
        uint32_t scope;    /* of node; for BINDING_OUTER the other scope */
        uint32_t next;     /* of the same name in the same scope; 0: none */
        const char *text;
        uint32_t len;
        TSNode node;
        const struct values *values; /* NULL: anything */
};

/* A node that the second pass checks. */
struct mention {
        TSNode node;
        uint32_t scope;
        uint8_t kind;
        bool called;    /* it is the callee of a call */
        bool limit;     /* only for python_limit() */
        uint8_t parent; /* kind of the parent node */
};

struct program {
        struct source *source;
        const struct program_language *language;
        struct report *report;
        const struct scan_rules *rules;
        struct scan_inside *inside;
        struct arena arena;
        unsigned depth; /* of evaluate() */
        uint32_t steps; /* evaluations that are left */
        int failed;     /* -ENOMEM, -E2BIG */

        struct scope {
                uint32_t parent;
                enum scope_kind kind;
        } * scopes;
        struct name {
                const char *text;
                uint32_t len, hash;
                bool deleted; /* deleted somewhere, so that the name of an outer scope may be visible again */
        } * names;
        struct binding *bindings; /* the first is not used */
        struct mention *mentions;
        uint32_t n_scopes, n_names, n_bindings, n_mentions;
        uint32_t scopes_size, names_size, bindings_size, mentions_size;
        uint32_t *name_index, name_index_size;
        struct bound {
                uint32_t name, scope, first; /* binding; 0: the place is free */
                uint32_t firm;               /* position of the first firm binding */
                uint32_t n;                  /* number of bindings */
                const struct values *values; /* of all its bindings, once they are known */
        } * bound;
        uint32_t n_bound, bound_size;

        const char *stars[8]; /* modules imported with * */
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
        /* Adds a member of an object to *ret, under the name that the tables of the language use. */
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

/* Reports at its beginning that a text could not be parsed. */
void program_unparsable(const struct program_job *job);

/* Scans code in a constant at node. */
void program_inside(struct program *program, enum scan_language language, const char *text, size_t len,
                    TSNode node);

int program_init(struct program *ret, struct source *source, const struct program_language *language,
                 const struct program_job *job);
void program_done(struct program *program);

uint32_t program_add_scope(struct program *program, uint32_t parent, enum scope_kind kind);
void program_add_mention(struct program *program, const struct mention *mention);
void program_bind(struct program *program, const char *name, size_t len, uint32_t scope,
                  const struct binding *binding);
/* Returns the nearest enclosing scope in which the name is bound; the module if there is none. */
uint32_t program_owner(struct program *program, const char *name, size_t len, uint32_t scope);
void program_delete(struct program *program, const char *name, size_t len);
void program_add_star(struct program *program, const char *module);

/* The possible values of an identifier: those of its bindings, or the name itself. */
void program_lookup(struct program *program, TSNode identifier, uint32_t scope, struct values *ret);
/* The same for a name of the module. */
void program_lookup_global(struct program *program, const char *name, size_t len, struct values *ret);

/* Evaluates an expression into *ret. */
void program_evaluate(struct program *program, TSNode node, uint32_t scope, struct values *ret);
/* Adds the values of the elements of a list to *ret. */
void program_elements(struct program *program, const struct value *list, struct values *ret);

/* Adds the values of the element of a list at an index, which is a number, to *ret. */
void program_element(struct program *program, const struct value *list, const struct value *index,
                     struct values *ret);

/* Joins the elements of a list with glue between them. */
void program_join(struct program *program, const struct value *list, const struct values *glue,
                  struct values *ret);

/* Evaluates a + b + c + ..., nodes of this kind, without recursion: such a sum is nested as deep as the text
 * is long.  add: replaces left by the sum of two numbers; NULL: their sum is an unknown number. */
void program_sum(struct program *program, TSNode node, unsigned kind, uint32_t scope,
                 void (*add)(struct program *program, struct values *left, const struct values *right),
                 struct values *ret);

/* ---- calls ---- */

#define ARGUMENTS_MAX 16
/* The arguments of a call.  Each language collects them; only Python has named ones. */
struct arguments {
        TSNode positional[ARGUMENTS_MAX];
        size_t n;
        struct {
                TSNode name, value;
        } named[ARGUMENTS_MAX];
        size_t n_named;
        bool other; /* *args, **kwargs, ...rest, or more than fit */
};

/* Evaluates the argument with this position or name (NULL: none).  Returns false if there is none. */
bool program_argument(struct program *program, const struct arguments *arguments, size_t position,
                      const char *name, uint32_t scope, struct values *ret);
struct known;
/* Adds the result of a call of a known name to *ret, if it is one that all languages evaluate in the same
 * way. Returns false if not. */
bool program_call(struct program *program, const struct known *known, const struct arguments *arguments,
                  uint32_t scope, struct values *ret);
/* Adds the members of all objects with all these names. */
void program_members(struct program *program, const struct values *objects, const struct values *names,
                     struct values *ret);

/* Returns a copy with a NUL at its end, or NULL. */
const char *program_copy(struct program *program, const char *text, size_t len);
