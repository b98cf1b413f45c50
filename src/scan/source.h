/* scan/source.h -- a text and its syntax tree, created by tree-sitter within limits of time and memory.
 *
 * A tree can be as deep as the text is long.  No function here recurses over it, and no caller may. */
#pragma once
#include <stdatomic.h>
#include <tree_sitter/api.h>

#include "scan/finding.h"

/* Real programs nest far less: the interpreters themselves stop at a few thousand levels. */
#define SOURCE_DEPTH_MAX 100000

/* Kinds of nodes that all languages have; each has its own from KIND_OWN on (at most 255). */
enum { KIND_OTHER, KIND_ERROR, KIND_OWN };

/* Fields of nodes.  One list for all languages: most have most of them. */
#define SOURCE_FIELDS(X)                                                                                     \
        X(ALIAS, "alias")                                                                                    \
        X(ARGUMENT, "argument")                                                                              \
        X(ARGUMENTS, "arguments")                                                                            \
        X(ATTRIBUTE, "attribute")                                                                            \
        X(BODY, "body")                                                                                      \
        X(CODE, "code")                                                                                      \
        X(CONSTRUCTOR, "constructor")                                                                        \
        X(DESTINATION, "destination")                                                                        \
        X(FUNCTION, "function")                                                                              \
        X(INDEX, "index")                                                                                    \
        X(KEY, "key")                                                                                        \
        X(LEFT, "left")                                                                                      \
        X(MODULE_NAME, "module_name")                                                                        \
        X(NAME, "name")                                                                                      \
        X(OBJECT, "object")                                                                                  \
        X(OPERATOR, "operator")                                                                              \
        X(PARAMETER, "parameter")                                                                            \
        X(PROPERTY, "property")                                                                              \
        X(RIGHT, "right")                                                                                    \
        X(SOURCE, "source")                                                                                  \
        X(SUBSCRIPT, "subscript")                                                                            \
        X(VALUE, "value")                                                                                    \
        X(VARIABLE, "variable")
#define SOURCE_FIELD_ID(id, name) FIELD_##id,
enum field { SOURCE_FIELDS(SOURCE_FIELD_ID) FIELDS };

/* Data of a grammar, initialised once for each language. */
struct grammar {
        const TSLanguage *language;
        uint8_t *kinds; /* by the number of a symbol */
        TSFieldId fields[FIELDS];
};

/* The time limit of one scan, including the code in its constants. */
struct budget {
        uint64_t end;                 /* budget_now() at which the scan gives up */
        const atomic_bool *cancelled; /* set by another thread; NULL: never */
        bool over;                    /* set by budget_over() */
};

/* Returns the CPU time of this thread in nanoseconds: a busy machine does not make a text unparsable. */
uint64_t budget_now(void);
/* Whether the time is over or the scan was cancelled.  Once true it stays true. */
bool budget_over(struct budget *budget);

struct source {
        const char *text;
        size_t len;
        const struct grammar *grammar;
        struct budget *budget;
        TSTree *tree;
        TSTreeCursor cursor; /* for source_children() */
        bool has_error;
};

/* Initialises a grammar. names[i] is the type of the nodes of kind KIND_OWN + i. The result lasts until
 * the process ends. */
int grammar_init(struct grammar *ret, const TSLanguage *language, const char *const *names, size_t n);

/* Parses a text, which must outlive *ret.  Returns 0; -ENOMEM; -E2BIG if the memory limit or the budget is
 * exceeded. Call source_done() in any case, in the same thread. */
int source_init(struct source *ret, const struct grammar *grammar, const char *text, size_t len,
                struct budget *budget);
void source_done(struct source *source);

static inline unsigned source_kind(const struct source *source, TSNode node)
{
        TSSymbol symbol = ts_node_symbol(node);
        return symbol == (TSSymbol)-1 ? KIND_ERROR : source->grammar->kinds[symbol];
}

/* Returns the child in a field, or a null node. */
static inline TSNode source_child(const struct source *source, TSNode node, enum field field)
{
        return ts_node_child_by_field_id(node, source->grammar->fields[field]);
}

static inline const char *source_text(const struct source *source, TSNode node, size_t *ret_len)
{
        uint32_t from = ts_node_start_byte(node);
        *ret_len = ts_node_end_byte(node) - from;
        return source->text + from;
}

bool source_is(const struct source *source, TSNode node, const char *text);

/* Returns the number of the first named children of a node without comments. (Getting the Nth child of a
 * node by its number would walk over all before it.) */
size_t source_children(struct source *source, TSNode node, TSNode *ret, size_t max);

/* ---- a walk over all nodes ---- */
#define WALKER_LEAF UINT32_MAX
struct walker {
        /* Called before a node's children.  parent: the kind of its parent.  frame: the value that the call
         * for the parent stored in *child_frame.  *child_frame starts as frame; WALKER_LEAF skips the
         * children. */
        void (*enter)(void *context, TSNode node, unsigned kind, unsigned parent, uint32_t frame,
                      uint32_t *child_frame);
        /* Called for syntax errors until it returns true. false: the error is harmless. */
        bool (*error)(void *context, TSNode node);
        void *context;
        bool stop; /* set by a callback */
        TSTreeCursor cursor;
};

/* Whether the current node is in this field of its parent; only in enter(). */
bool walker_at(const struct walker *walker, const struct source *source, enum field field);

/* Returns 0; -ENOMEM; -E2BIG for a tree that is too deep, or when the budget is exceeded. */
int source_walk(struct source *source, struct walker *walker);
