#include "scan/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const field_names[] = {
#define SOURCE_FIELD_NAME(id, name) name,
        SOURCE_FIELDS(SOURCE_FIELD_NAME)};

int grammar_init(struct grammar *ret, const TSLanguage *language, const char *const *names, size_t n)
{
        uint32_t symbols = ts_language_symbol_count(language);
        ret->language = language;
        ret->kinds = calloc(symbols, 1);
        if (!ret->kinds)
                return -ENOMEM;
        for (uint32_t symbol = 0; symbol < symbols; symbol++) {
                const char *name = ts_language_symbol_name(language, (TSSymbol)symbol);
                for (size_t i = 0; name && i < n; i++)
                        if (!strcmp(name, names[i]))
                                ret->kinds[symbol] = (uint8_t)(KIND_OWN + i);
        }
        for (size_t i = 0; i < FIELDS; i++)
                ret->fields[i] = ts_language_field_id_for_name(language, field_names[i],
                                                               (uint32_t)strlen(field_names[i]));
        return 0;
}

/* ---- parsing ---- */

/* Lexers read the text in pieces of this size: the only moments in which one that goes back and forth over
 * the same text for seconds can be stopped. */
#define PIECE_SIZE 4096u

struct input {
        const char *text;
        size_t len;
        const struct memory *memory;
        uint64_t end;
        unsigned asked;
        bool over;
};

uint64_t source_now(void)
{
        struct timespec now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool over_limits(TSParseState *state)
{
        struct input *input = state->payload;
        input->over |= input->memory->used > SCAN_MEMORY_BYTES;
        if (input->asked++ % 8 == 0)
                input->over |= source_now() > input->end;
        return input->over;
}

/* Once it is over, the text ends here: whoever reads it will soon be done. */
static const char *read_text(void *payload, uint32_t from, TSPoint position, uint32_t *ret_len)
{
        struct input *input = payload;
        (void)position;
        input->over |= source_now() > input->end;
        size_t left = from < input->len && !input->over ? input->len - from : 0;
        *ret_len = left < PIECE_SIZE ? (uint32_t)left : PIECE_SIZE;
        return left > 0 ? input->text + from : "";
}

int source_init(struct source *ret, const struct grammar *grammar, const char *text, size_t len, uint64_t end)
{
        *ret = (struct source){.text = text, .len = len, .grammar = grammar};
        struct input input = {
                .text = text,
                .len = len,
                .memory = &ret->memory,
                .end = end,
        };
        memory_init(&ret->memory);
        ret->parser = ts_parser_new();
        if (!ts_parser_set_language(ret->parser, grammar->language))
                return -ENOMEM;
        const TSInput reader = {.payload = &input, .read = read_text, .encoding = TSInputEncodingUTF8};
        const TSParseOptions options = {.payload = &input, .progress_callback = over_limits};
        ret->tree = ts_parser_parse_with_options(ret->parser, NULL, reader, options);
        if (!ret->tree || input.over)
                return -E2BIG;
        TSNode root = ts_tree_root_node(ret->tree);
        ret->has_error = ts_node_has_error(root);
        ret->cursor = ts_tree_cursor_new(root);
        return 0;
}

void source_done(struct source *source)
{
        /* For what a grammar allocates by itself; the tree goes with the memory. */
        ts_parser_delete(source->parser);
        memory_done(&source->memory);
}

/* ---- looking at it ---- */

bool source_is(const struct source *source, TSNode node, const char *text)
{
        size_t len;
        const char *own = source_text(source, node, &len);
        return len == strlen(text) && !memcmp(own, text, len);
}

size_t source_children(struct source *source, TSNode node, TSNode *ret, size_t max)
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

/* ---- walking ---- */

struct level {
        uint8_t kind;
        uint32_t frame; /* of what is below */
};

#define ROOT_DEPTH 2 /* with the root on it */

struct stack {
        struct level *levels;
        size_t depth, size;
};

static int push(struct stack *stack, unsigned kind, uint32_t frame)
{
        if (stack->depth == SOURCE_DEPTH_MAX)
                return -E2BIG;
        if (stack->depth == stack->size) {
                size_t size = stack->size > 0 ? stack->size * 2 : 256;
                struct level *levels = realloc(stack->levels, size * sizeof *levels);
                if (!levels)
                        return -ENOMEM;
                stack->levels = levels;
                stack->size = size;
        }
        stack->levels[stack->depth++] = (struct level){(uint8_t)kind, frame};
        return 0;
}

static bool next(struct walker *walker, struct stack *stack)
{
        while (!ts_tree_cursor_goto_next_sibling(&walker->cursor)) {
                if (!ts_tree_cursor_goto_parent(&walker->cursor))
                        return false;
                stack->depth--;
        }
        return true;
}

bool walker_at(const struct walker *walker, const struct source *source, enum field field)
{
        return ts_tree_cursor_current_field_id(&walker->cursor) == source->grammar->fields[field];
}

static bool is_in_hole(struct walker *walker, TSNode leaf)
{
        if (walker->n_holes == 0)
                return false;
        uint32_t from = ts_node_start_byte(leaf), to = ts_node_end_byte(leaf);
        while (walker->n_holes > 0 && walker->holes->to <= from) {
                walker->holes++;
                walker->n_holes--;
        }
        return walker->n_holes > 0 && walker->holes->from < to && from < to;
}

int source_walk(struct source *source, struct walker *walker)
{
        struct stack stack = {0};
        bool good = !source->has_error;
        uint32_t n = 0;
        int r = push(&stack, KIND_OTHER, 0);
        walker->cursor = ts_tree_cursor_new(ts_tree_root_node(source->tree));
        while (r == 0 && !walker->stop) {
                TSNode node = ts_tree_cursor_current_node(&walker->cursor);
                struct level above = stack.levels[stack.depth - 1];
                unsigned kind = source_kind(source, node);
                if (!good && (kind == KIND_ERROR || ts_node_is_missing(node)))
                        good = walker->error(walker->context, node); /* once is enough */
                uint32_t frame = above.frame;
                if (stack.depth == ROOT_DEPTH && walker->n_found < walker->n_marks &&
                    ts_node_start_byte(node) == walker->marks[walker->n_found])
                        walker->n_found++;
                if (kind != KIND_OTHER)
                        walker->enter(walker->context, node, kind, above.kind, above.frame, &frame);
                if (frame != WALKER_LEAF && ts_node_child_count(node) > 0 &&
                    ts_tree_cursor_goto_first_child(&walker->cursor)) {
                        r = push(&stack, kind, frame);
                        continue;
                }
                walker->in_hole |= is_in_hole(walker, node);
                if (++n % 4096 == 0 && source_now() > walker->end)
                        r = -E2BIG;
                if (!next(walker, &stack))
                        break;
        }
        free(stack.levels);
        return r;
}
