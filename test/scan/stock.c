#include "stock.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan/memory.h"
#include "scan/tree.h"

/* It is loaded as a library of its own, with names of its own. */
#define FUNCTIONS(X)                                                                                         \
        X(parser_new)                                                                                        \
        X(parser_delete)                                                                                     \
        X(parser_set_language)                                                                               \
        X(parser_parse_string)                                                                               \
        X(tree_delete)                                                                                       \
        X(tree_root_node)                                                                                    \
        X(tree_cursor_new)                                                                                   \
        X(tree_cursor_delete)                                                                                \
        X(tree_cursor_current_node)                                                                          \
        X(tree_cursor_current_field_id)                                                                      \
        X(tree_cursor_goto_first_child)                                                                      \
        X(tree_cursor_goto_next_sibling)                                                                     \
        X(tree_cursor_goto_parent)                                                                           \
        X(node_symbol)                                                                                       \
        X(node_start_point)                                                                                  \
        X(node_end_point)                                                                                    \
        X(node_end_byte)                                                                                     \
        X(node_is_missing)                                                                                   \
        X(node_is_extra)                                                                                     \
        X(node_has_error)                                                                                    \
        X(node_parse_state)                                                                                  \
        X(node_child_count)                                                                                  \
        X(node_descendant_count)
#define MEMBER(name) __typeof__(ts_##name) *name;
static struct {
        FUNCTIONS(MEMBER)
} stock;

static bool load(void)
{
        static void *library;
        if (library)
                return true;
        library = dlopen(STOCK, RTLD_NOW | RTLD_LOCAL);
#define FIND(name) found &= (stock.name = (__typeof__(stock.name))dlsym(library, "ts_" #name)) != NULL;
        bool found = library != NULL;
        if (found) {
                FUNCTIONS(FIND)
        }
        if (!found)
                printf("%s: %s\n", STOCK, dlerror());
        return found;
}

static bool same_point(TSPoint a, TSPoint b)
{
        return a.row == b.row && a.column == b.column;
}

static bool same_node(TSNode a, TSNode b)
{
        return ts_node_symbol(a) == stock.node_symbol(b) && a.context[0] == b.context[0] &&
               ts_node_end_byte(a) == stock.node_end_byte(b) &&
               same_point(ts_node_start_point(a), stock.node_start_point(b)) &&
               same_point(ts_node_end_point(a), stock.node_end_point(b)) &&
               ts_node_is_missing(a) == stock.node_is_missing(b) &&
               ts_node_is_extra(a) == stock.node_is_extra(b) &&
               ts_node_has_error(a) == stock.node_has_error(b) &&
               ts_node_parse_state(a) == stock.node_parse_state(b) &&
               ts_node_child_count(a) == stock.node_child_count(b) &&
               ts_node_descendant_count(a) == stock.node_descendant_count(b);
}

static bool same_trees(const TSTree *ours, const TSTree *theirs)
{
        TSTreeCursor a = ts_tree_cursor_new(ts_tree_root_node(ours)),
                     b = stock.tree_cursor_new(stock.tree_root_node(theirs));
        bool same = true, more = true;
        while (same && more) {
                same = same_node(ts_tree_cursor_current_node(&a), stock.tree_cursor_current_node(&b)) &&
                       ts_tree_cursor_current_field_id(&a) == stock.tree_cursor_current_field_id(&b);
                more = ts_tree_cursor_goto_first_child(&a);
                same &= more == stock.tree_cursor_goto_first_child(&b);
                for (bool up = true; same && !more && up;) {
                        more = ts_tree_cursor_goto_next_sibling(&a);
                        same &= more == stock.tree_cursor_goto_next_sibling(&b);
                        if (more)
                                break;
                        up = ts_tree_cursor_goto_parent(&a);
                        same &= up == stock.tree_cursor_goto_parent(&b);
                }
        }
        stock.tree_cursor_delete(&b);
        ts_tree_cursor_delete(&a);
        return same;
}

/* The text in pieces, which end in the middle of tokens and characters. */
struct pieces {
        const char *text;
        size_t len, each;
};

static const char *read_piece(void *payload, uint32_t from, TSPoint position, uint32_t *ret_len)
{
        const struct pieces *pieces = payload;
        size_t left = from < pieces->len ? pieces->len - from : 0;
        (void)position;
        *ret_len = (uint32_t)(left < pieces->each ? left : pieces->each);
        return left > 0 ? pieces->text + from : "";
}

bool stock_same(const TSLanguage *language, const char *text, size_t len)
{
        struct memory memory;
        bool same = load();
        if (!same)
                return false;
        memory_init(&memory);
        TSParser *theirs = stock.parser_new();
        stock.parser_set_language(theirs, language);
        TSTree *tree = stock.parser_parse_string(theirs, NULL, text, (uint32_t)len);
        for (int i = 0; i < 2 && same; i++) {
                struct pieces pieces = {text, len, i == 0 ? 4096 : 13};
                TSParser *ours = tree_parser_new(i == 0 ? language : tree_language(language));
                TSTree *own = ts_parser_parse(
                        ours, NULL,
                        (TSInput){.payload = &pieces, .read = read_piece, .encoding = TSInputEncodingUTF8});
                same = same_trees(own, tree);
                ts_tree_delete(own);
                ts_parser_delete(ours);
        }
        stock.tree_delete(tree);
        stock.parser_delete(theirs);
        memory_done(&memory);
        return same;
}
