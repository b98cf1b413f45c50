/* scan/walk.c -- the ways over a tree that are gone often.
 *
 * tree-sitter has cursors for that, which can go back, too, and count what they passed: they take a quarter
 * of the time that it took to make the tree.  These go one way, over the same nodes. */
#include <errno.h>
#include <language.h>
#include <stdlib.h>
#include <subtree.h>
#include <tree.h>

#include "scan/source.h"

/* A node whose children are gone through.  Nodes that nobody sees (a list, one of several) have levels, too,
 * which pass for a part of the one above. */
struct walk_level {
        const Subtree *children;
        const TSSymbol *aliases; /* what they are called here, by their place in the rule; or NULL */
        uint32_t n, next;
        uint32_t place; /* of the next one in the rule, in which there are no comments */
        uint16_t rule;
        bool hidden;
        uint8_t kind;
        uint32_t frame;
        Length at; /* where the one before the next ends */
};

/* A child of the node that a level is for. */
struct child {
        const Subtree *tree;
        Length from;
        TSSymbol alias;
};

/* The one behind it is fetched meanwhile: to wait for memory is most of what a walk costs. */
static inline struct child next_child(struct walk_level *level)
{
        struct child child = {.tree = &level->children[level->next], .from = level->at};
        if (level->next + 1 < level->n && !child.tree[1].data.is_inline)
                __builtin_prefetch(child.tree[1].ptr);
        if (level->next++ > 0)
                child.from = length_add(child.from, ts_subtree_padding(*child.tree));
        if (!ts_subtree_extra(*child.tree)) {
                if (level->aliases)
                        child.alias = level->aliases[level->place];
                level->place++;
        }
        level->at = length_add(child.from, ts_subtree_size(*child.tree));
        return child;
}

static Length start_of(TSNode node)
{
        return (Length){node.context[0], {node.context[1], node.context[2]}};
}

static TSNode node_of(const struct source *source, const struct child *child)
{
        const Length from = child->from;
        return (TSNode){
                {from.bytes, from.extent.row, from.extent.column, child->alias}, child->tree, source->tree};
}

static struct walk_level level_of(const struct source *source, Subtree node, Length from)
{
        const uint16_t rule = ts_subtree_production_id(node);
        return (struct walk_level){.children = ts_subtree_children(node),
                                   .aliases = ts_language_alias_sequence(source->tree->language, rule),
                                   .n = ts_subtree_child_count(node),
                                   .rule = rule,
                                   .at = from};
}

static bool is_seen(const struct child *child)
{
        return child->alias || ts_subtree_visible(*child->tree);
}

/* ---- a child by its field ---- */

/* The first one below a node that nobody sees. */
static TSNode first_seen(const struct source *source, struct child child)
{
        while (!is_seen(&child)) {
                struct walk_level level = level_of(source, *child.tree, child.from);
                do {
                        if (level.next == level.n)
                                return (TSNode){0};
                        child = next_child(&level);
                } while (!is_seen(&child) && ts_subtree_visible_child_count(*child.tree) == 0);
        }
        return node_of(source, &child);
}

TSNode source_child(const struct source *source, TSNode node, enum field field)
{
        const TSFieldMapEntry *map, *end;
        const TSFieldId id = source->grammar->fields[field];
        for (;;) {
                const Subtree tree = *(const Subtree *)node.id;
                if (id == 0 || ts_subtree_visible_child_count(tree) == 0)
                        return (TSNode){0};
                ts_language_field_map(source->tree->language, tree.ptr->production_id, &map, &end);
                while (map < end && map->field_id < id)
                        map++;
                while (map < end && end[-1].field_id > id)
                        end--;
                if (map == end)
                        return (TSNode){0};
                if (end - map > 1) /* one of several */
                        return ts_node_child_by_field_id(node, id);
                struct child child;
                struct walk_level level = level_of(source, tree, start_of(node));
                do {
                        if (level.next == level.n)
                                return (TSNode){0};
                        child = next_child(&level);
                } while (ts_subtree_extra(*child.tree) || level.place - 1 < map->child_index);
                if (!map->inherited)
                        return first_seen(source, child);
                node = node_of(source, &child); /* whose child it is */
        }
}

/* ---- the named children ---- */

#define HIDDEN_MAX 32 /* nodes in nodes that nobody sees; lists are balanced trees of those */

/* However deep they are. */
static size_t children_by_cursor(struct source *source, TSNode node, TSNode *ret, size_t max)
{
        size_t n = 0;
        ts_tree_cursor_reset(&source->cursor, node);
        for (bool more = ts_tree_cursor_goto_first_child(&source->cursor); more && n < max;
             more = ts_tree_cursor_goto_next_sibling(&source->cursor)) {
                TSNode child = ts_tree_cursor_current_node(&source->cursor);
                if (ts_node_is_named(child) && !ts_node_is_extra(child))
                        ret[n++] = child;
        }
        return n;
}

static bool is_named(const struct source *source, const struct child *child)
{
        return child->alias ? ts_language_symbol_metadata(source->tree->language, child->alias).named
                            : ts_subtree_named(*child->tree);
}

size_t source_children(struct source *source, TSNode node, TSNode *ret, size_t max)
{
        struct walk_level levels[HIDDEN_MAX];
        size_t n = 0, depth = 1;
        levels[0] = level_of(source, *(const Subtree *)node.id, start_of(node));
        while (depth > 0 && n < max) {
                struct walk_level *level = &levels[depth - 1];
                if (level->next == level->n) {
                        depth--;
                        continue;
                }
                const struct child child = next_child(level);
                if (is_seen(&child)) {
                        if (is_named(source, &child) && !ts_subtree_extra(*child.tree))
                                ret[n++] = node_of(source, &child);
                } else if (ts_subtree_visible_child_count(*child.tree) > 0) {
                        if (depth == HIDDEN_MAX)
                                return children_by_cursor(source, node, ret, max);
                        levels[depth++] = level_of(source, *child.tree, child.from);
                }
        }
        return n;
}

/* ---- all nodes ---- */

#define ROOT_DEPTH 2                        /* where the children of the root are */
#define LEVELS_MAX (SOURCE_DEPTH_MAX * 16u) /* with those that nobody sees */

static int push(struct walker *walker, const struct walk_level *level)
{
        if (walker->depth == LEVELS_MAX)
                return -E2BIG;
        if (walker->depth == walker->size) {
                size_t size = walker->size > 0 ? walker->size * 2 : 256;
                struct walk_level *levels = realloc(walker->levels, size * sizeof *levels);
                if (!levels)
                        return -ENOMEM;
                walker->levels = levels;
                walker->size = size;
        }
        walker->levels[walker->depth++] = *level;
        return 0;
}

bool walker_at(const struct walker *walker, const struct source *source, enum field field)
{
        const TSFieldMapEntry *map, *end;
        TSFieldId found = 0;
        for (size_t i = walker->depth; i > 0 && found == 0; i--) {
                const struct walk_level *level = &walker->levels[i - 1];
                if (ts_subtree_extra(level->children[level->next - 1]))
                        break;
                ts_language_field_map(source->tree->language, level->rule, &map, &end);
                for (; map < end && found == 0; map++)
                        if (!map->inherited && map->child_index == level->place - 1)
                                found = map->field_id;
                if (!level->hidden)
                        break;
        }
        return found == source->grammar->fields[field];
}

static bool is_in_hole(struct walker *walker, uint32_t from, uint32_t to)
{
        while (walker->n_holes > 0 && walker->holes->to <= from) {
                walker->holes++;
                walker->n_holes--;
        }
        return walker->n_holes > 0 && walker->holes->from < to && from < to;
}

static unsigned kind_of(const struct source *source, const struct child *child)
{
        TSSymbol symbol = child->alias ? child->alias : ts_subtree_symbol(*child->tree);
        return symbol == ts_builtin_sym_error ? KIND_ERROR : source->grammar->kinds[symbol];
}

struct walk {
        struct source *source;
        struct walker *walker;
        size_t depth; /* without what nobody sees */
        bool good;    /* there is nothing malformed, or it was told */
        uint32_t n;   /* nodes with nothing in them */
};

/* A node that one sees, with what is above it. */
static int visit(struct walk *w, const struct child *child, unsigned parent, uint32_t above)
{
        struct walker *walker = w->walker;
        const TSNode node = node_of(w->source, child);
        const uint32_t from = child->from.bytes;
        unsigned kind = kind_of(w->source, child);
        uint32_t frame = above;
        if (!w->good && (kind == KIND_ERROR || ts_subtree_missing(*child->tree)))
                w->good = walker->error(walker->context, node); /* once is enough */
        if (w->depth == ROOT_DEPTH && walker->n_found < walker->n_marks &&
            from == walker->marks[walker->n_found])
                walker->n_found++;
        if (kind != KIND_OTHER)
                walker->enter(walker->context, node, kind, parent, above, &frame);
        if (frame != WALKER_LEAF && ts_subtree_visible_child_count(*child->tree) > 0) {
                if (w->depth++ == SOURCE_DEPTH_MAX)
                        return -E2BIG;
                struct walk_level level = level_of(w->source, *child->tree, child->from);
                level.kind = (uint8_t)kind;
                level.frame = frame;
                return push(walker, &level);
        }
        if (walker->n_holes > 0)
                walker->in_hole |= is_in_hole(walker, from, from + ts_subtree_size(*child->tree).bytes);
        return ++w->n % 4096 == 0 && source_now() > walker->end ? -E2BIG : 0;
}

int source_walk(struct source *source, struct walker *walker)
{
        struct walk w = {source, walker, .depth = 1, .good = !source->has_error};
        const struct walk_level root = {
                .children = &source->tree->root, .n = 1, .at = ts_subtree_padding(source->tree->root)};
        int r = push(walker, &root);
        while (r == 0 && walker->depth > 0 && !walker->stop) {
                struct walk_level *level = &walker->levels[walker->depth - 1];
                if (level->next == level->n) {
                        w.depth -= !level->hidden;
                        walker->depth--;
                        continue;
                }
                const struct child child = next_child(level);
                if (is_seen(&child)) {
                        r = visit(&w, &child, level->kind, level->frame);
                } else if (ts_subtree_visible_child_count(*child.tree) > 0) {
                        struct walk_level hidden = level_of(source, *child.tree, child.from);
                        hidden.hidden = true;
                        hidden.kind = level->kind;
                        hidden.frame = level->frame;
                        r = push(walker, &hidden);
                }
        }
        free(walker->levels);
        walker->levels = NULL;
        return r;
}
