/* scan/source.h -- a text and its syntax tree, made by tree-sitter within limits of time and memory.
 *
 * Trees may be as deep as the text is long: nothing here recurses into them, and neither may who uses it. */
#pragma once
#include <tree_sitter/api.h>

#include "scan/memory.h"
#include "scan/scan.h"
#include "scan/thin.h"

/* What a program nests is far below: the interpreters themselves give up at a few thousand. */
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

/* What is looked up once for each language. */
struct grammar {
        const TSLanguage *language;
        uint8_t *kinds; /* by the number of a symbol */
        TSFieldId fields[FIELDS];
};

struct source {
        const char *text;
        size_t len;
        const struct grammar *grammar;
        struct memory memory; /* of all that follows */
        TSParser *parser;
        TSTree *tree;
        TSTreeCursor cursor; /* for source_children() */
        bool has_error;
};

/* names[i] is the type of the nodes of kind KIND_OWN + i.  Lasts for the process's life. */
int grammar_init(struct grammar *ret, const TSLanguage *language, const char *const *names, size_t n);

/* The thread's own time, in nanoseconds: on a busy machine a text is not unparsable because others compute.
 */
uint64_t source_now(void);

/* 0; -ENOMEM; -E2BIG if the text cannot be parsed in the memory there is, or before the end.  source_done()
 * in any case, and before that of another one which was there before.  The text must outlive it.  dense: how
 * many bytes of it are not blank, or may not be. */
int source_init(struct source *ret, const struct grammar *grammar, const char *text, size_t len, size_t dense,
                uint64_t end);
void source_done(struct source *source);

static inline unsigned source_kind(const struct source *source, TSNode node)
{
        TSSymbol symbol = ts_node_symbol(node);
        return symbol == (TSSymbol)-1 ? KIND_ERROR : source->grammar->kinds[symbol];
}

/* The child that is in a field, or a null node (scan/walk.c). */
TSNode source_child(const struct source *source, TSNode node, enum field field);

static inline const char *source_text(const struct source *source, TSNode node, size_t *ret_len)
{
        uint32_t from = node.context[0]; /* ts_node_start_byte() */
        *ret_len = ts_node_end_byte(node) - from;
        return source->text + from;
}

bool source_is(const struct source *source, TSNode node, const char *text);

/* The first named children of a node, comments left out; their number.  (To ask a node for its Nth child
 * walks all before it.) */
size_t source_children(struct source *source, TSNode node, TSNode *ret, size_t max);

/* ---- a walk over all nodes ---- */
#define WALKER_LEAF UINT32_MAX
struct walker {
        /* Before a node's children.  parent is its parent's kind; frame what the parent's call left for its
         * children, *child_frame (which starts as frame) what this one leaves: WALKER_LEAF: not to go into
         * it. */
        void (*enter)(void *context, TSNode node, unsigned kind, unsigned parent, uint32_t frame,
                      uint32_t *child_frame);
        /* A place that is not in the language; false: it does no harm, the next is of interest. */
        bool (*error)(void *context, TSNode node);
        void *context;
        bool stop;    /* set by a callback */
        uint64_t end; /* of its time */
        /* Places in the text, in their order, each of which must be where a child of the root begins. */
        const uint32_t *marks;
        size_t n_marks, n_found;
        /* Parts of the text, in their order, in which there must be nothing; whether there was. */
        const struct thin_hole *holes;
        size_t n_holes;
        bool in_hole;
        struct walk_level *levels; /* where it is */
        size_t depth, size;
};

/* Which field of its parent the current node is, in enter(). */
bool walker_at(const struct walker *walker, const struct source *source, enum field field);

/* -ENOMEM; -E2BIG for a tree that is too deep, or if it takes too long. */
int source_walk(struct source *source, struct walker *walker);
