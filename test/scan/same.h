/* test/scan/same.h -- whether scan/walk.c goes over a tree as tree-sitter's own functions do. */
#pragma once
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "scan/source.h"

#define SAME_CHILDREN 8

struct same {
        struct source *source;
        struct walker walker;
        TSTreeCursor cursor; /* where it has to be */
        bool begun, differs;
};

static inline bool same_node(TSNode a, TSNode b)
{
        return a.id == b.id && (!a.id || !memcmp(a.context, b.context, sizeof a.context));
}

static inline bool same_next(TSTreeCursor *cursor)
{
        if (ts_tree_cursor_goto_first_child(cursor))
                return true;
        while (!ts_tree_cursor_goto_next_sibling(cursor))
                if (!ts_tree_cursor_goto_parent(cursor))
                        return false;
        return true;
}

static inline bool same_children(struct source *source, TSNode node)
{
        TSNode children[SAME_CHILDREN];
        TSTreeCursor cursor = ts_tree_cursor_new(node);
        size_t n = source_children(source, node, children, SAME_CHILDREN), found = 0;
        for (bool more = ts_tree_cursor_goto_first_child(&cursor); more && found < SAME_CHILDREN;
             more = ts_tree_cursor_goto_next_sibling(&cursor)) {
                TSNode child = ts_tree_cursor_current_node(&cursor);
                if (!ts_node_is_named(child) || ts_node_is_extra(child))
                        continue;
                if (found == n || !same_node(child, children[found++]))
                        return false;
        }
        ts_tree_cursor_delete(&cursor);
        return found == n;
}

static inline void same_enter(void *context, TSNode node, unsigned kind, unsigned parent, uint32_t frame,
                              uint32_t *child_frame)
{
        struct same *same = context;
        const TSFieldId *fields = same->source->grammar->fields;
        (void)kind, (void)parent;
        bool good = !same->begun || same_next(&same->cursor);
        same->begun = true;
        good &= same_node(node, ts_tree_cursor_current_node(&same->cursor));
        good &= frame == ts_tree_cursor_current_depth(&same->cursor);
        const TSFieldId own = ts_tree_cursor_current_field_id(&same->cursor);
        for (int i = 0; i < FIELDS && good; i++)
                good = walker_at(&same->walker, same->source, (enum field)i) == (own == fields[i]) &&
                       same_node(source_child(same->source, node, (enum field)i),
                                 ts_node_child_by_field_id(node, fields[i]));
        good &= same_children(same->source, node);
        same->differs |= !good;
        same->walker.stop |= !good;
        *child_frame = frame + 1;
}

static inline bool same_error(void *context, TSNode node)
{
        (void)context, (void)node;
        return true;
}

/* Whether all nodes are there, in their order, and have the same fields and children.  A text that is not
 * parsed in time is as good as any. */
static inline bool same_walk(const TSLanguage *language, const char *text, size_t len)
{
        struct grammar grammar;
        struct source source;
        struct same same = {.source = &source,
                            .walker = {.enter = same_enter, .error = same_error, .end = UINT64_MAX}};
        same.walker.context = &same;
        if (grammar_init(&grammar, language, NULL, 0) < 0)
                return false;
        memset(grammar.kinds, KIND_OWN, ts_language_symbol_count(language));
        if (source_init(&source, &grammar, text, len, len, source_now() + SCAN_TIME_MS * (uint64_t)1000000) ==
            0) {
                same.cursor = ts_tree_cursor_new(ts_tree_root_node(source.tree));
                int r = source_walk(&source, &same.walker);
                same.differs |= r == 0 && !same.walker.stop && same_next(&same.cursor);
        }
        source_done(&source);
        free(grammar.kinds);
        return !same.differs;
}
