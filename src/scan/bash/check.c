/* scan/bash/check.c -- the second pass over a shell text: checks each command. */
#include <string.h>

#include "base/auto.h"
#include "scan/bash/bash.h"
#include "scan/check.h"
#include "scan/place.h"

void bash_words(struct program *p, TSNode command, struct bash_words *ret)
{
        TSNode children[BASH_WORDS_MAX];
        size_t n = source_children(p->source, command, children, BASH_WORDS_MAX);
        ret->n = 0;
        ret->input = (TSNode){0};
        for (size_t i = 0; i < n; i++) {
                switch (source_kind(p->source, children[i])) {
                case SH_VARIABLE_ASSIGNMENT:
                        break;
                case SH_FILE_REDIRECT:
                case SH_HERESTRING:
                        ret->input = children[i];
                        break;
                default:
                        ret->nodes[ret->n++] = children[i];
                }
        }
}

/* ---- options and operands ---- */

/* A command within the words of another command, beginning with its name. */
struct line {
        const struct bash_command *command;
        const struct bash_words *words;
        size_t name; /* index of the word */
        TSNode node; /* where to report */
        bool more;   /* further arguments are unknown (xargs) */
};

static const char *bash_constant(struct program *p, TSNode word, size_t *ret_len)
{
        struct values values;
        program_evaluate(p, word, 0, &values);
        *ret_len = 0;
        if (values.n == 0 || values.other || values.v[0].kind != VALUE_TEXT)
                return NULL;
        *ret_len = values.v[0].len;
        return values.v[0].text;
}

/* Whether an option is in the list, and whether its value is a file that it writes. */
static bool takes_value(const char *options, const char *name, size_t len, bool *ret_writes)
{
        *ret_writes = false;
        for (const char *at = options; at && len > 0; at = strchr(at, ' ')) {
                at += *at == ' ';
                size_t n = strcspn(at, " =");
                if (n == len && !memcmp(at, name, n)) {
                        *ret_writes = at[n] == '=';
                        return true;
                }
        }
        return false;
}

static void check_write(struct program *p, TSNode word, TSNode node)
{
        struct values path;
        program_evaluate(p, word, 0, &path);
        check_say(p, place_write(&path), node);
}

static void check_tree(struct program *p, TSNode word, TSNode node)
{
        struct values path;
        program_evaluate(p, word, 0, &path);
        check_say(p, place_tree(&path), node);
}

/* The value of an option in the same word, as text. */
static void check_write_text(struct program *p, const char *text, size_t len, TSNode node)
{
        struct values path = {0};
        values_add(&path, &(struct value){.kind = VALUE_TEXT, .text = text, .len = (uint32_t)len});
        check_say(p, place_write(&path), node);
}

/* If the word at *i is an option, skips it and its value; reports files that it writes. */
static bool skip_option(struct program *p, const struct line *line, size_t *i)
{
        const char *options = line->command->options ? line->command->options : "";
        size_t len, name;
        bool writes;
        const char *text = bash_constant(p, line->words->nodes[*i], &len);
        if (!text || len < 2 || text[0] != '-')
                return false;
        bool is_long = text[1] == '-';
        const char *equals = is_long ? memchr(text, '=', len) : NULL;
        text += is_long ? 2 : 1;
        len -= is_long ? 2 : 1;
        name = equals ? (size_t)(equals - text) : is_long ? len : 1;
        if (!takes_value(options, text, name, &writes))
                return true;
        size_t inline_len = len - name - (equals ? 1 : 0);
        if (inline_len > 0) {
                if (writes)
                        check_write_text(p, text + len - inline_len, inline_len, line->node);
        } else if (*i + 1 < line->words->n) {
                (*i)++;
                if (writes)
                        check_write(p, line->words->nodes[*i], line->node);
        }
        return true;
}

static size_t operands(struct program *p, const struct line *line, TSNode *ret)
{
        size_t n = 0, len;
        bool options = true;
        for (size_t i = line->name + 1; i < line->words->n; i++) {
                const char *text = bash_constant(p, line->words->nodes[i], &len);
                if (options && text && len == 2 && !memcmp(text, "--", 2)) {
                        options = false;
                        continue;
                }
                if (options && skip_option(p, line, &i))
                        continue;
                ret[n++] = line->words->nodes[i];
        }
        return n;
}

/* ---- effects of commands ---- */

static bool has_option(struct program *p, const struct line *line, char letter)
{
        for (size_t i = line->name + 1; i < line->words->n; i++) {
                size_t len;
                const char *text = bash_constant(p, line->words->nodes[i], &len);
                if (text && len > 1 && text[0] == '-' && text[1] != '-' && memchr(text, letter, len))
                        return true;
        }
        return false;
}

/* Returns the word after the given one; null if there is none. */
static TSNode after(struct program *p, const struct line *line, const char *word)
{
        for (size_t i = line->name + 1; i + 1 < line->words->n; i++)
                if (source_is(p->source, line->words->nodes[i], word))
                        return line->words->nodes[i + 1];
        return (TSNode){0};
}

/* Whether a command that has such an option applies to everything below its files: rm -rf, chmod -R. */
static bool is_recursive(struct program *p, const struct line *line)
{
        if (!bash_has_word("rm chmod chown chgrp", line->command->name, strlen(line->command->name)))
                return false;
        for (size_t i = line->name + 1; i < line->words->n; i++) {
                size_t len;
                const char *text = bash_constant(p, line->words->nodes[i], &len);
                if (text && len == 11 && !memcmp(text, "--recursive", len))
                        return true;
        }
        /* -r of chmod takes the right to read away. */
        return has_option(p, line, 'R') || (line->command->name[0] == 'r' && has_option(p, line, 'r'));
}

static void check_files(struct program *p, const struct line *line)
{
        TSNode files[BASH_WORDS_MAX], target = after(p, line, "-t");
        size_t n = operands(p, line, files), from = line->command->skip;
        const bool tree = is_recursive(p, line);
        if (!ts_node_is_null(target))
                check_write(p, target, line->node);
        if (line->more)
                check_say(p, RULE_FILE_WRITE_UNKNOWN, line->node);
        if (line->command->flags & COMMAND_WRITES_LAST && n > 0)
                check_write(p, files[n - 1], line->node);
        for (size_t i = from; i < n && line->command->flags & COMMAND_WRITES_ALL; i++)
                if (!line->more || !source_is(p->source, files[i], "{}"))
                        (tree ? check_tree : check_write)(p, files[i], line->node);
}

static void check_reads(struct program *p, const struct line *line)
{
        TSNode files[BASH_WORDS_MAX];
        struct values path;
        size_t n = operands(p, line, files);
        for (size_t i = 0; i < n; i++) {
                program_evaluate(p, files[i], 0, &path);
                if (place_read(&path) == RULE_FILE_READ_OUTSIDE)
                        check_say(p, RULE_FILE_READ_OUTSIDE, line->node);
        }
}

static void check_cd(struct program *p, const struct line *line)
{
        TSNode to[BASH_WORDS_MAX];
        struct values path = {0};
        size_t n = operands(p, line, to);
        if (n == 0)
                values_add_text(&path, &p->arena, VALUE_TEXT, "~", 1);
        else if (source_is(p->source, to[0], "-"))
                return;
        else
                program_evaluate(p, to[0], 0, &path);
        check_chdir(p, line->node, &path);
}

static void check_subcommands(struct program *p, const struct line *line)
{
        TSNode words[BASH_WORDS_MAX];
        size_t len;
        if (operands(p, line, words) == 0)
                return;
        const char *text = bash_constant(p, words[0], &len);
        if (!text || bash_has_word(line->command->subcommands, text, len))
                check_say(p, RULE_NETWORK_COMMAND, line->node);
        else if (line->command->runs && bash_has_word(line->command->runs, text, len))
                check_say(p, RULE_EVALUATE, line->node);
}

/* eval and source. */
static void check_evaluates(struct program *p, const struct line *line)
{
        struct values code = {0}, word, space = {0};
        bool eval = !strcmp(line->command->name, "eval");
        if (line->name + 1 >= line->words->n)
                return;
        if (!eval) {
                check_say(p, RULE_EVALUATE, line->node);
                return;
        }
        values_add_text(&space, &p->arena, VALUE_TEXT, " ", 1);
        for (size_t i = line->name + 1; i < line->words->n; i++) {
                program_evaluate(p, line->words->nodes[i], 0, &word);
                if (i == line->name + 1) {
                        code = word;
                        continue;
                }
                values_append(&code, &p->arena, JOIN_CONCAT, &space);
                values_append(&code, &p->arena, JOIN_CONCAT, &word);
        }
        bool decoded = false, known = !code.other;
        for (unsigned i = 0; i < code.n; i++) {
                decoded |= code.v[i].decoded;
                known &= code.v[i].kind == VALUE_TEXT;
                if (code.v[i].kind == VALUE_TEXT && code.v[i].text)
                        program_inside(p, SCAN_BASH, code.v[i].text, code.v[i].len, line->node);
        }
        check_say(p,
                  decoded ? RULE_OBFUSCATED_CODE
                  : known ? RULE_EVALUATE_CONSTANT
                          : RULE_EVALUATE,
                  line->node);
}

/* alias c='curl -s'; trap 'rm x' EXIT */
static void check_inside(struct program *p, const struct line *line)
{
        bool alias = !strcmp(line->command->name, "alias");
        for (size_t i = line->name + 1; i < line->words->n; i++) {
                size_t len;
                const char *text = bash_constant(p, line->words->nodes[i], &len),
                           *equals = text && alias ? memchr(text, '=', len) : NULL;
                if (!text && (alias || i == line->name + 1))
                        check_say(p, RULE_EVALUATE, line->node);
                else if (equals)
                        program_inside(p, SCAN_BASH, equals + 1, len - (size_t)(equals + 1 - text),
                                       line->node);
                else if (text && !alias && i == line->name + 1 && len > 1)
                        program_inside(p, SCAN_BASH, text, len, line->node);
        }
}

/* Commands whose files are reported in their own way. */
static void check_special(struct program *p, const struct line *line)
{
        const char *name = line->command->name;
        TSNode words[BASH_WORDS_MAX], to;
        size_t n, len;
        if (!strcmp(name, "dd")) {
                for (size_t i = line->name + 1; i < line->words->n; i++) {
                        const char *text = bash_constant(p, line->words->nodes[i], &len);
                        if (!text && source_text(p->source, line->words->nodes[i], &len)[0] == 'o')
                                check_say(p, RULE_FILE_WRITE_UNKNOWN, line->node);
                        else if (text && len > 3 && !memcmp(text, "of=", 3))
                                check_write_text(p, text + 3, len - 3, line->node);
                }
        } else if (!strcmp(name, "sed") && has_option(p, line, 'i')) {
                n = operands(p, line, words);
                for (size_t i = n > 1 ? 1 : 0; i < n; i++)
                        check_write(p, words[i], line->node);
        } else if (!strcmp(name, "tar")) {
                if (!ts_node_is_null(to = after(p, line, "-C")))
                        check_write(p, to, line->node);
                if (has_option(p, line, 'c') && line->name + 2 < line->words->n)
                        check_write(p, line->words->nodes[line->name + 2], line->node);
        } else if (!strcmp(name, "unzip")) {
                if (!ts_node_is_null(to = after(p, line, "-d")))
                        check_write(p, to, line->node);
        }
}

static void bash_check_known(struct program *p, const struct line *line)
{
        unsigned flags = line->command->flags;
        TSNode unused[BASH_WORDS_MAX];
        if (flags & COMMAND_NETWORK) {
                check_say(p, RULE_NETWORK_COMMAND, line->node);
                operands(p, line, unused); /* curl -o FILE */
        }
        if (flags & COMMAND_PROCESS)
                check_say(p, RULE_PROCESS_COMMAND, line->node);
        if (flags & COMMAND_SYSTEM)
                check_say(p, RULE_SYSTEM_COMMAND, line->node);
        if (flags & COMMAND_SUBCOMMANDS)
                check_subcommands(p, line);
        if (flags & (COMMAND_WRITES_ALL | COMMAND_WRITES_LAST))
                check_files(p, line);
        if (flags & COMMAND_READS)
                check_reads(p, line);
        if (flags & COMMAND_CHDIR)
                check_cd(p, line);
        if (flags & COMMAND_EVALUATES)
                check_evaluates(p, line);
        if (flags & COMMAND_RUNS_FILES)
                check_say(p, RULE_EVALUATE, line->node);
        if (flags & COMMAND_INSIDE)
                check_inside(p, line);
        if (flags & COMMAND_INTERPRETER)
                bash_check_interpreter(p, line->command, line->words, line->name, line->node);
        check_special(p, line);
}

/* ---- identifying the command ---- */

/* System programs; any other path is an unknown program. */
static bool is_system_path(const char *path, size_t len)
{
        static const char *const places[] = {"/bin/", "/sbin/", "/usr/"};
        for (size_t i = 0; i < ARRAY_LEN(places); i++)
                if (len > strlen(places[i]) && !memcmp(path, places[i], strlen(places[i])) &&
                    !memmem(path, len, "..", 2))
                        return true;
        return false;
}

static size_t skip_wrapper(struct program *p, const struct line *line)
{
        size_t i = line->name + 1, skip = line->command->skip, len;
        bool env = !strcmp(line->command->name, "env");
        for (; i < line->words->n; i++) {
                const char *text = bash_constant(p, line->words->nodes[i], &len);
                if (text && len == 2 && !memcmp(text, "--", 2))
                        continue;
                if (skip_option(p, line, &i) || (env && text && memchr(text, '=', len)))
                        continue;
                if (skip == 0)
                        break;
                skip--;
        }
        return i;
}

/* find … -exec rm {} ; -delete */
static void check_find(struct program *p, struct line line);

static void bash_check_name(struct program *p, struct line line)
{
        for (int depth = 0; depth < 8 && line.name < line.words->n; depth++) {
                struct values names;
                program_evaluate(p, line.words->nodes[line.name], 0, &names);
                bool wrapper = false, hidden = names.other;
                for (unsigned i = 0; i < names.n; i++) {
                        const char *text = names.v[i].text;
                        size_t len = names.v[i].len;
                        if (names.v[i].kind == VALUE_BYTES || !text) {
                                hidden = true;
                                continue;
                        }
                        const char *comma = memchr(text, ',', len);
                        if (comma) /* {curl,-s,URL} */
                                len = (size_t)(comma - text);
                        const char *slash = memrchr(text, '/', len), *base = slash ? slash + 1 : text;
                        size_t base_len = len - (size_t)(base - text);
                        hidden |= len > 1 &&
                                  (memchr(text, '*', len) || memchr(text, '?', len) ||
                                   memchr(text, '[', len)) &&
                                  !(len == 2 && text[0] == '[');
                        if (slash && !is_system_path(text, len))
                                check_say(p, RULE_EVALUATE, line.node);
                        line.command = bash_command(base, base_len);
                        if (base_len == 4 && !memcmp(base, "find", 4))
                                check_find(p, line);
                        if (!line.command) {
                                p->report->to->unknown_command |= !bash_is_harmless(base, base_len);
                                continue;
                        }
                        wrapper |= (line.command->flags & COMMAND_WRAPPER) != 0;
                        bash_check_known(p, &line);
                        if (wrapper)
                                break;
                }
                if (hidden)
                        check_say(p, RULE_DYNAMIC_COMMAND, line.node);
                if (!wrapper)
                        return;
                line.more |= !strcmp(line.command->name, "xargs");
                line.name = skip_wrapper(p, &line);
                /* command -v curl only searches it */
                if (!strcmp(line.command->name, "command") &&
                    (has_option(p, &(struct line){.words = line.words, .command = line.command}, 'v')))
                        return;
        }
}

static void check_find(struct program *p, struct line line)
{
        size_t len;
        line.more = true;
        for (size_t i = line.name + 1; i < line.words->n; i++) {
                const char *text = bash_constant(p, line.words->nodes[i], &len);
                if (!text)
                        continue;
                if (bash_has_word("-exec -execdir -ok -okdir", text, len) && i + 1 < line.words->n) {
                        struct line inner = line;
                        inner.name = i + 1;
                        bash_check_name(p, inner);
                } else if (bash_has_word("-delete", text, len)) {
                        check_tree(p, line.words->nodes[line.name + 1], line.node);
                }
        }
}

static void check_environment(struct program *p, TSNode node)
{
        TSNode children[8];
        size_t n = source_children(p->source, node, children, 8), len;
        for (size_t i = 0; i < n; i++) {
                const char *text = source_text(p->source, children[i], &len);
                if (source_kind(p->source, children[i]) == SH_VARIABLE_ASSIGNMENT && len > 3 &&
                    !memcmp(text, "LD_", 3))
                        check_say(p, RULE_NATIVE_CODE, node);
        }
}

static void check_redirect(struct program *p, TSNode node)
{
        TSNode to = source_child(p->source, node, FIELD_DESTINATION);
        struct values path;
        size_t len, to_len;
        const char *text = source_text(p->source, node, &len), *to_text;
        if (ts_node_is_null(to))
                return;
        to_text = source_text(p->source, to, &to_len);
        program_evaluate(p, to, 0, &path);
        bool network = memmem(text, len, "/dev/tcp/", 9) || memmem(text, len, "/dev/udp/", 9);
        for (unsigned i = 0; i < path.n; i++)
                network |=
                        path.v[i].kind == VALUE_TEXT && path.v[i].len > 9 &&
                        (!memcmp(path.v[i].text, "/dev/tcp/", 9) || !memcmp(path.v[i].text, "/dev/udp/", 9));
        if (network) {
                check_say(p, RULE_NETWORK_REDIRECT, node);
                return;
        }
        unsigned kind = source_kind(p->source, to);
        bool writes = memchr(text, '>', (size_t)(to_text - text)) != NULL;
        bool device = path.n == 1 && !path.other && path.v[0].len > 5 && !memcmp(path.v[0].text, "/dev/", 5);
        if (!writes || kind == SH_PROCESS_SUBSTITUTION || (device && place_write(&path) == RULE_FILE_WRITE))
                return;
        /* 2>&1, >&- */
        if (to_text > text && to_text[-1] == '&' && (kind == SH_NUMBER || to_text[0] == '-'))
                return;
        check_say(p, place_write(&path), node);
}

void bash_check(struct program *p, const struct mention *m)
{
        struct bash_words words;
        switch (m->kind) {
        case SH_COMMAND:
                bash_words(p, m->node, &words);
                check_environment(p, m->node);
                if (words.n > 0)
                        bash_check_name(p, (struct line){.words = &words, .node = m->node});
                if (words.n == BASH_WORDS_MAX)
                        check_say(p, RULE_DYNAMIC_COMMAND, m->node); /* the rest was not checked */
                break;
        case SH_FILE_REDIRECT:
                check_redirect(p, m->node);
                break;
        case SH_PIPELINE:
                bash_check_pipeline(p, m->node);
                break;
        case SH_REDIRECTED:
                bash_check_redirected(p, m->node);
                break;
        case SH_BACKGROUND:
                check_say(p, RULE_BACKGROUND, m->node);
                break;
        default:
                break;
        }
}
