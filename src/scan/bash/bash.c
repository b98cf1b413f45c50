#include "scan/bash/bash.h"

#include <pthread.h>
#include <string.h>

#include "base/auto.h"

const TSLanguage *tree_sitter_bash(void);

static const char *const kinds[] = {
#define BASH_KIND_NAME(id, name) name,
        BASH_KINDS(BASH_KIND_NAME)};

static struct grammar grammar;
static int prepared;

static void bash_prepare(void)
{
        prepared = grammar_init(&grammar, tree_sitter_bash(), kinds, ARRAY_LEN(kinds));
}

static void bash_bind(struct program *p, TSNode name, TSNode value)
{
        size_t len;
        if (ts_node_is_null(name))
                return;
        const char *text = source_text(p->source, name, &len);
        program_bind(p, text, len, 0,
                     &(struct binding){.kind = ts_node_is_null(value) ? BINDING_OPAQUE : BINDING_VALUE,
                                       .position = ts_node_start_byte(name),
                                       .node = value});
}

static void bash_assignment(struct program *p, TSNode node)
{
        TSNode name = source_child(p->source, node, FIELD_NAME),
               value = source_child(p->source, node, FIELD_VALUE);
        if (ts_node_is_null(name))
                return;
        /* a+=b: the previous value is already one of the values */
        if (ts_node_end_byte(name) < p->source->len && p->source->text[ts_node_end_byte(name)] == '+')
                value = (TSNode){0};
        if (source_kind(p->source, name) == SH_SUBSCRIPT)
                name = source_child(p->source, name, FIELD_NAME);
        bash_bind(p, name, value);
}

/* for i in a b c */
static void bash_loop(struct program *p, TSNode node)
{
        TSNode children[VALUES_MAX + 4], name = source_child(p->source, node, FIELD_VARIABLE), body;
        size_t n = source_children(p->source, node, children, ARRAY_LEN(children)), bound = 0;
        body = source_child(p->source, node, FIELD_BODY);
        for (size_t i = 0; i < n; i++)
                if (!ts_node_eq(children[i], name) &&
                    (ts_node_is_null(body) || !ts_node_eq(children[i], body))) {
                        bash_bind(p, name, children[i]);
                        bound++;
                }
        if (bound == 0 || n == ARRAY_LEN(children))
                bash_bind(p, name, (TSNode){0}); /* "$@", or more words than are checked */
}

/* read x y; printf -v x; mapfile x: variables that get an unknown value. */
static void command(struct program *p, TSNode node)
{
        struct bash_words words;
        size_t len;
        const char *text = source_text(p->source, node, &len);
        if (len == 0 || (*text != 'r' && *text != 'm')) /* a missing command has no text */
                return;
        bash_words(p, node, &words);
        if (words.n == 0 || (!source_is(p->source, words.nodes[0], "read") &&
                             !source_is(p->source, words.nodes[0], "mapfile") &&
                             !source_is(p->source, words.nodes[0], "readarray")))
                return;
        for (size_t i = 1; i < words.n; i++)
                bash_bind(p, words.nodes[i], (TSNode){0});
}

static void bash_enter(void *context, TSNode node, unsigned kind, unsigned parent, uint32_t frame,
                       uint32_t *child_frame)
{
        struct program_walk *walk = context;
        struct program *p = walk->program;
        (void)frame;
        (void)child_frame;
        if (p->failed)
                walk->walker.stop = true;
        switch (kind) {
        case SH_VARIABLE_ASSIGNMENT:
                bash_assignment(p, node);
                break;
        case SH_FOR:
                bash_loop(p, node);
                return;
        case SH_COMMAND:
                command(p, node);
                break;
        case SH_BACKGROUND:
                if (parent == SH_BINARY)
                        return;
                break;
        case SH_FILE_REDIRECT:
        case SH_PIPELINE:
        case SH_REDIRECTED:
                break;
        default:
                return;
        }
        program_add_mention(p, &(struct mention){.node = node, .kind = (uint8_t)kind});
}

static bool is_builtin(const char *name, size_t len)
{
        (void)name;
        (void)len;
        return false;
}

/* The grammar does not know "3<>file", and parses it as "3<file" with an error in between. */
static bool is_harmless_error(const struct source *source, TSNode node)
{
        uint32_t from = ts_node_start_byte(node);
        return source_is(source, node, ">") && from > 0 && source->text[from - 1] == '<';
}

int bash_scan(const struct program_job *job)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        static const struct program_language language = {
                .grammar = &grammar,
                .enter = bash_enter,
                .check = bash_check,
                .evaluate = bash_evaluate,
                .is_builtin = is_builtin,
                .is_harmless_error = is_harmless_error,
        };
        pthread_once(&once, bash_prepare);
        return prepared < 0 ? prepared : program_scan(&language, job);
}
