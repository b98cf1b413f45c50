#include "scan/source.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
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

/* ---- limits ---- */

uint64_t budget_now(void)
{
        struct timespec now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

bool budget_over(struct budget *budget)
{
        budget->over |=
                (budget->cancelled && atomic_load_explicit(budget->cancelled, memory_order_relaxed)) ||
                budget_now() > budget->end;
        return budget->over;
}

/* Memory that tree-sitter has allocated in this thread, for all texts that are being scanned in it.  Trees
 * are freed in the thread that created them. */
static _Thread_local size_t allocated;

/* tree-sitter has no way to report a failed allocation; its own functions abort, too. */
static void *source_count(void *block)
{
        if (!block)
                abort();
        allocated += malloc_usable_size(block);
        return block;
}

static void *counted_malloc(size_t size)
{
        return source_count(malloc(size > 0 ? size : 1));
}

static void *counted_calloc(size_t n, size_t size)
{
        return source_count(n > 0 && size > 0 ? calloc(n, size) : calloc(1, 1));
}

static void *counted_realloc(void *block, size_t size)
{
        allocated -= malloc_usable_size(block);
        return source_count(realloc(block, size > 0 ? size : 1));
}

static void counted_free(void *block)
{
        allocated -= malloc_usable_size(block);
        free(block);
}

static void set_allocator(void)
{
        ts_set_allocator(counted_malloc, counted_calloc, counted_realloc, counted_free);
}

/* ---- parsing ---- */

/* The parser reads the text in pieces of this size.  A lexer that goes back and forth over the same text for
 * seconds can be stopped only when it asks for the next piece. */
#define PIECE_SIZE 4096u

struct input {
        const char *text;
        size_t len;
        struct budget *budget;
        bool over;
};

static bool on_progress(TSParseState *state)
{
        struct input *input = state->payload;
        input->over |= allocated > SCAN_MEMORY_BYTES || budget_over(input->budget);
        return input->over;
}

/* Past a limit the text ends here, so that the lexer returns soon. */
static const char *read_text(void *payload, uint32_t from, TSPoint position, uint32_t *ret_len)
{
        struct input *input = payload;
        (void)position;
        /* Lexers of short texts read at the end of the text after every word: the clock costs a system call,
         * and the answer there does not depend on it. */
        if (from < input->len)
                input->over |= budget_over(input->budget);
        size_t left = from < input->len && !input->over ? input->len - from : 0;
        *ret_len = left < PIECE_SIZE ? (uint32_t)left : PIECE_SIZE;
        return left > 0 ? input->text + from : "";
}

int source_init(struct source *ret, const struct grammar *grammar, const char *text, size_t len,
                struct budget *budget)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        *ret = (struct source){.text = text, .len = len, .grammar = grammar, .budget = budget};
        struct input input = {.text = text, .len = len, .budget = budget};
        pthread_once(&once, set_allocator);
        TSParser *parser = ts_parser_new();
        if (!ts_parser_set_language(parser, grammar->language))
                abort(); /* the versions of tree-sitter and the grammar do not match */
        const TSInput reader = {.payload = &input, .read = read_text, .encoding = TSInputEncodingUTF8};
        const TSParseOptions options = {.payload = &input, .progress_callback = on_progress};
        ret->tree = ts_parser_parse_with_options(parser, NULL, reader, options);
        ts_parser_delete(parser);
        if (!ret->tree || input.over)
                return -E2BIG;
        TSNode root = ts_tree_root_node(ret->tree);
        ret->has_error = ts_node_has_error(root);
        ret->cursor = ts_tree_cursor_new(root);
        return 0;
}

void source_done(struct source *source)
{
        if (source->cursor.tree)
                ts_tree_cursor_delete(&source->cursor);
        if (source->tree)
                ts_tree_delete(source->tree);
}

/* ---- nodes ---- */

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

/* ---- a walk over all nodes ---- */

/* A node while its children are visited. */
struct walk_level {
        uint8_t kind;
        uint32_t frame;
};

struct walk {
        struct source *source;
        struct walker *walker;
        struct walk_level *levels;
        size_t depth, size;
        bool good;  /* nothing is malformed, or it was reported */
        uint32_t n; /* visited nodes */
};

bool walker_at(const struct walker *walker, const struct source *source, enum field field)
{
        return ts_tree_cursor_current_field_id(&walker->cursor) == source->grammar->fields[field];
}

/* Goes down to the first child of the current node, if it has one. */
static int walk_down(struct walk *w, unsigned kind, uint32_t frame, bool *ret_down)
{
        *ret_down = frame != WALKER_LEAF && ts_tree_cursor_goto_first_child(&w->walker->cursor);
        if (!*ret_down)
                return 0;
        if (w->depth == SOURCE_DEPTH_MAX)
                return -E2BIG;
        if (w->depth == w->size) {
                size_t size = w->size > 0 ? w->size * 2 : 256;
                struct walk_level *levels = realloc(w->levels, size * sizeof *levels);
                if (!levels)
                        return -ENOMEM;
                w->levels = levels;
                w->size = size;
        }
        w->levels[w->depth++] = (struct walk_level){(uint8_t)kind, frame};
        return 0;
}

/* Moves to the next node that is not a child of the current one.  Returns false if there is none. */
static bool walk_on(struct walk *w)
{
        for (;;) {
                if (w->depth == 0)
                        return false;
                if (ts_tree_cursor_goto_next_sibling(&w->walker->cursor))
                        return true;
                ts_tree_cursor_goto_parent(&w->walker->cursor);
                w->depth--;
        }
}

static int walk_visit(struct walk *w, bool *ret_down)
{
        struct walker *walker = w->walker;
        const TSNode node = ts_tree_cursor_current_node(&walker->cursor);
        const unsigned kind = source_kind(w->source, node);
        const struct walk_level above = w->depth > 0 ? w->levels[w->depth - 1] : (struct walk_level){0};
        uint32_t frame = above.frame;
        if (!w->good && (kind == KIND_ERROR || ts_node_is_missing(node)))
                w->good = walker->error(walker->context, node);
        if (kind != KIND_OTHER)
                walker->enter(walker->context, node, kind, above.kind, above.frame, &frame);
        if (++w->n % 1024 == 0 && budget_over(w->source->budget))
                return -E2BIG;
        return walk_down(w, kind, frame, ret_down);
}

int source_walk(struct source *source, struct walker *walker)
{
        struct walk w = {.source = source, .walker = walker, .good = !source->has_error};
        bool down = true, more = true;
        int r = 0;
        walker->cursor = ts_tree_cursor_new(ts_tree_root_node(source->tree));
        while (r == 0 && more && !walker->stop) {
                r = walk_visit(&w, &down);
                if (r == 0 && !down)
                        more = walk_on(&w);
        }
        ts_tree_cursor_delete(&walker->cursor);
        free(w.levels);
        return r;
}
