/* scan/tree_sitter.c -- tree-sitter as it is, but for what takes long and can be had for less.
 *
 * Its trees are the same, byte by byte: each of these does what is in its place there, where that is simple,
 * and leaves the rest to it.  They know its inside, and it is pinned (tools/grammars.lock). */

/* A tree is never shared between threads: what counts who uses a part of it need not lock the bus. */
#define TREE_SITTER_ATOMIC_H_
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t atomic_load(const volatile size_t *p)
{
        return *p;
}

static inline uint32_t atomic_inc(volatile uint32_t *p)
{
        return *p = *p + 1;
}

static inline uint32_t atomic_dec(volatile uint32_t *p)
{
        return *p = *p - 1;
}

/* Its lib.c, without queries. */
#include "alloc.c"
#include "get_changed_ranges.c"
#include "language.c"
#include "lexer.c"
#include "node.c"
#include "stack.h"

/* In parser.c these two get other names where they are defined, and ours are called in their place: what
 * stands behind the bracket tells which of the two it is. */
#define ts_parser__reduce(first, ...) REDUCE_##first, __VA_ARGS__)
#define REDUCE_TSParser reduce_any(TSParser
#define REDUCE_self reduce(self
#define ts_parser__balance_subtree(first) BALANCE_##first)
#define BALANCE_TSParser balance_any(TSParser
#define BALANCE_self balance(self
static bool balance(TSParser *self);
static StackVersion reduce(TSParser *self, StackVersion version, TSSymbol symbol, uint32_t count,
                           int precedence, uint16_t rule, bool fragile, bool ends_extra);
#include "parser.c"
#include "stack.c"
#include "subtree.c"
#include "tree.c"
#include "tree_cursor.c"
#include "wasm_store.c"

#include "scan/lexing.h"
#include "scan/tree.h"

#define LANGUAGES_MAX 4

/* ---- the end of a rule ---- */

/* Whether the top of the only stack is straight, and nobody else's, for as long as the rule is; *ret is then
 * how long that is, with comments in it. */
static bool is_simple(const Stack *stack, StackVersion version, uint32_t count, uint32_t *ret)
{
        if (ts_stack_version_count(stack) != 1)
                return false;
        const StackNode *node = array_get(&stack->heads, version)->node;
        uint32_t found = 0, n = 0;
        for (; found < count; n++) {
                const Subtree tree = node->links[0].subtree;
                if (node->link_count != 1 || node->ref_count != 1 || !tree.ptr)
                        return false;
                bool extra = ts_subtree_extra(tree);
                if (extra && n == 0) /* a comment behind it, which is no part of it */
                        return false;
                found += !extra;
                node = node->links[0].node;
        }
        *ret = n;
        return true;
}

/* Moves the top of the stack into an array that has room for a node behind it. */
static SubtreeArray take_top(Stack *stack, StackVersion version, uint32_t n, uint32_t room)
{
        SubtreeArray children = array_new();
        StackHead *head = array_get(&stack->heads, version);
        array_reserve(&children, n > room ? n : room);
        children.size = n;
        while (n > 0) {
                StackNode *node = head->node;
                children.contents[--n] = node->links[0].subtree;
                head->node = node->links[0].node;
                if (stack->node_pool.size < MAX_NODE_POOL_SIZE)
                        array_push(&stack->node_pool, node);
                else
                        ts_free(node);
        }
        return children;
}

/* What a rule is made of goes from the stack, and the rule comes in its place.  tree-sitter makes a new
 * version of the stack first, since there may be other ways to go on, and removes the old one later.  With
 * one stack and one way, which is nearly always so, this does it in place; the version stays what it was. */
static StackVersion reduce(TSParser *self, StackVersion version, TSSymbol symbol, uint32_t count,
                           int precedence, uint16_t rule, bool fragile, bool ends_extra)
{
        uint32_t n;
        if (fragile || ends_extra || !is_simple(self->stack, version, count, &n))
                return reduce_any(self, version, symbol, count, precedence, rule, fragile, ends_extra);
        const uint32_t room = (uint32_t)(ts_subtree_alloc_size(count) / sizeof(Subtree));
        SubtreeArray children = take_top(self->stack, version, n, room);
        MutableSubtree node = ts_subtree_new_node(symbol, &children, rule, self->language);
        const TSStateId state = ts_stack_state(self->stack, version);
        node.ptr->parse_state = state;
        node.ptr->dynamic_precedence += precedence;
        ts_stack_push(self->stack, version, ts_subtree_from_mut(node), false,
                      ts_language_next_state(self->language, state, symbol));
        return version;
}

/* ---- long lists ---- */

#define AHEAD 8

/* A list is a chain at first; makes a tree of it.  As there, but for time. */
static bool shorten(TSParser *self, MutableSubtree tree)
{
        const Subtree *children = ts_subtree_children(tree);
        long n = (long)ts_subtree_repeat_depth(children[0]) -
                 (long)ts_subtree_repeat_depth(children[tree.ptr->child_count - 1]);
        for (long i = n / 2; i > 0; i /= 2) {
                ts_subtree_compress(tree, (unsigned)i, self->language, &self->tree_pool.tree_stack);
                if (!ts_parser__check_progress(self, NULL, NULL, i >> 4 > 0 ? (unsigned)(i >> 4) : 1))
                        return false;
        }
        return true;
}

/* To look at all nodes is to wait for memory: those that come next are fetched meanwhile.  In which order
 * they are looked at makes no difference. */
static bool balance(TSParser *self)
{
        MutableSubtree ahead[AHEAD];
        MutableSubtreeArray *stack = &self->tree_pool.tree_stack;
        uint32_t first = 0, n = 0;
        if (self->canceled_balancing)
                return balance_any(self);
        array_clear(stack);
        if (!self->finished_tree.data.is_inline)
                array_push(stack, ts_subtree_to_mut_unsafe(self->finished_tree));
        while (n > 0 || stack->size > 0) {
                for (; n < AHEAD && stack->size > 0; n++) {
                        MutableSubtree next = array_pop(stack);
                        __builtin_prefetch(next.ptr);
                        ahead[(first + n) % AHEAD] = next;
                }
                MutableSubtree tree = ahead[first];
                first = (first + 1) % AHEAD;
                n--;
                if (!ts_parser__check_progress(self, NULL, NULL, 1))
                        return false;
                if (tree.ptr->child_count == 0 || tree.ptr->ref_count != 1)
                        continue;
                if (tree.ptr->repeat_depth > 0 && !shorten(self, tree))
                        return false;
                for (uint32_t i = 0; i < tree.ptr->child_count; i++) {
                        Subtree child = ts_subtree_children(tree)[i];
                        if (!child.data.is_inline)
                                array_push(stack, ts_subtree_to_mut_unsafe(child));
                }
        }
        return true;
}

/* ---- the text ---- */

/* For the parts of a grammar that were written by hand; the others do it themselves. */
static void advance(TSLexer *lexer, bool skip)
{
        if (!lexing_advance((Lexer *)lexer, skip))
                ts_lexer__advance(lexer, skip);
}

/* Fills in the rows of the states that have lists: how many symbols lead to which value, and those. */
static void fill(const TSLanguage *language, uint16_t *table)
{
        for (uint32_t state = language->large_state_count; state < language->state_count; state++) {
                const uint32_t index = language->small_parse_table_map[state - language->large_state_count];
                const uint16_t *list = &language->small_parse_table[index];
                uint16_t *row = &table[(size_t)state * language->symbol_count];
                for (uint16_t groups = *list++; groups > 0; groups--) {
                        const uint16_t value = *list++;
                        for (uint16_t n = *list++; n > 0; n--, list++)
                                if (row[*list] == 0) /* the first one counts */
                                        row[*list] = value;
                }
        }
}

static TSLanguage *with_table(const TSLanguage *language)
{
        TSLanguage *copy = malloc(sizeof *copy);
        uint16_t *table = calloc((size_t)language->state_count * language->symbol_count, sizeof *table);
        if (!copy || !table) {
                free(copy);
                free(table);
                return NULL;
        }
        memcpy(table, language->parse_table,
               (size_t)language->large_state_count * language->symbol_count * sizeof *table);
        fill(language, table);
        *copy = *language;
        copy->parse_table = table;
        copy->large_state_count = language->state_count;
        return copy;
}

const TSLanguage *tree_language(const TSLanguage *language)
{
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static struct {
                const TSLanguage *from, *to;
        } known[LANGUAGES_MAX];
        const TSLanguage *found = NULL;
        pthread_mutex_lock(&lock);
        for (size_t i = 0; i < LANGUAGES_MAX && !found; i++) {
                if (!known[i].to && (known[i].to = with_table(language)))
                        known[i].from = language;
                found = known[i].from == language ? known[i].to : NULL;
        }
        pthread_mutex_unlock(&lock);
        return found ? found : language;
}

TSParser *tree_parser_new(const TSLanguage *language)
{
        TSParser *parser = ts_parser_new();
        parser->lexer.data.advance = advance;
        if (ts_parser_set_language(parser, language))
                return parser;
        ts_parser_delete(parser);
        return NULL;
}
