#include "scan/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scan/tree.h"

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

#define LONG_TEXT (256u << 10) /* worth a larger table */

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
        /* What asks for more behind the end is told the same, late or not, and asks after every word of a
         * short text: the clock is a system call. */
        if (from < input->len)
                input->over |= source_now() > input->end;
        size_t left = from < input->len && !input->over ? input->len - from : 0;
        *ret_len = left < PIECE_SIZE ? (uint32_t)left : PIECE_SIZE;
        return left > 0 ? input->text + from : "";
}

int source_init(struct source *ret, const struct grammar *grammar, const char *text, size_t len, size_t dense,
                uint64_t end)
{
        *ret = (struct source){.text = text, .len = len, .grammar = grammar};
        struct input input = {
                .text = text,
                .len = len,
                .memory = &ret->memory,
                .end = end,
        };
        memory_init(&ret->memory);
        ret->parser =
                tree_parser_new(dense < LONG_TEXT ? grammar->language : tree_language(grammar->language));
        if (!ret->parser)
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
