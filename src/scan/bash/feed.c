/* scan/bash/feed.c -- code that a shell passes to interpreters: `sh -c`, `python3 - <<EOF`, `… | sh`. */
#include <string.h>

#include "scan/bash/bash.h"
#include "scan/check.h"

static void run_text(struct program *p, enum scan_language language, const struct values *code, TSNode node)
{
        bool known = !code->other;
        for (unsigned i = 0; i < code->n; i++) {
                const struct value *v = &code->v[i];
                if (v->kind == VALUE_TEXT && v->text)
                        program_inside(p, language, v->text, v->len, node);
                else
                        known = false;
                if (v->decoded)
                        check_say(p, RULE_OBFUSCATED_CODE, node);
        }
        if (!known)
                check_say(p, RULE_EVALUATE, node);
}

/* awk is another language; only whether it runs commands is checked. */
static void check_awk(struct program *p, const struct bash_words *words, size_t first, TSNode node)
{
        struct values text;
        for (size_t i = first + 1; i < words->n; i++) {
                program_evaluate(p, words->nodes[i], 0, &text);
                const struct value *v = &text.v[0];
                if (text.n > 0 && v->kind == VALUE_TEXT && v->len > 0 && v->text[0] == '-')
                        continue;
                bool runs = text.n == 0;
                if (text.n > 0 && v->kind == VALUE_TEXT)
                        runs = memmem(v->text, v->len, "system(", 7) || memmem(v->text, v->len, "| \"", 3) ||
                               memmem(v->text, v->len, "|\"", 2) || memmem(v->text, v->len, "getline", 7) ||
                               memmem(v->text, v->len, "/inet/", 6);
                if (runs)
                        check_say(p, RULE_EVALUATE, node);
                return;
        }
}

/* python3 -m http.server */
static void check_module(struct program *p, const struct values *module, TSNode node)
{
        static const char *const network[] = {"http.server", "pip", "smtpd", "ensurepip", "uvicorn", "flask"};
        for (unsigned i = 0; i < module->n; i++)
                for (size_t k = 0; k < sizeof network / sizeof *network; k++) {
                        size_t len = strlen(network[k]);
                        const struct value *v = &module->v[i];
                        if (v->kind == VALUE_TEXT && v->len >= len &&
                            !memcmp(v->text + v->len - len, network[k], len))
                                check_say(p, RULE_NETWORK_COMMAND, node);
                }
}

enum program_from { FROM_NOWHERE, FROM_OPTION, FROM_FILE, FROM_INPUT };

/* Where an interpreter gets its program from, and the word with the program. */
static enum program_from find_program(struct program *p, const struct bash_command *command,
                                      const struct bash_words *words, size_t first, size_t *ret_word)
{
        struct values text;
        for (size_t i = first + 1; i < words->n; i++) {
                program_evaluate(p, words->nodes[i], 0, &text);
                const struct value *v = &text.v[0];
                *ret_word = i;
                if (text.n == 0 || v->kind != VALUE_TEXT || v->len == 0 || v->text[0] != '-')
                        return FROM_FILE;
                if (v->len == 1)
                        return FROM_INPUT; /* - */
                /* Not -v and -h: after them, some interpreters still run a program. */
                if (bash_has_word("--version --help", v->text, v->len) ||
                    (command->language != SCAN_BASH && bash_has_word("-V", v->text, v->len)))
                        return FROM_NOWHERE;
                /* -c, --eval, and combined letters: -lc, -Sce */
                bool is_long = v->text[1] == '-';
                const char *name = v->text + (is_long ? 2 : 1);
                size_t len = v->len - (is_long ? 2 : 1);
                bool code = bash_has_word(command->options, name, len) && strchr("cepErC", name[0]);
                if (!is_long && command->language != SCAN_UNKNOWN && !code && len < 6)
                        code = memchr(name, command->language == SCAN_JAVASCRIPT ? 'e' : 'c', len) != NULL;
                if (code) {
                        *ret_word = i + 1;
                        return FROM_OPTION;
                }
                if (bash_has_word(command->options, name, len))
                        i++;
                if (command->language == SCAN_PYTHON && !is_long && name[0] == 'm') {
                        *ret_word = i + (len == 1); /* -m pip, -mpip */
                        return FROM_FILE;
                }
                if (command->language == SCAN_BASH && !is_long && memchr(name, 's', len))
                        return FROM_INPUT;
        }
        return FROM_INPUT;
}

const struct bash_command *bash_reads_program(struct program *p, TSNode node)
{
        struct bash_words words;
        struct values name;
        size_t word, i = 0;
        if (source_kind(p->source, node) == SH_REDIRECTED)
                node = source_child(p->source, node, FIELD_BODY);
        if (ts_node_is_null(node) || source_kind(p->source, node) != SH_COMMAND)
                return NULL;
        bash_words(p, node, &words);
        for (; i < words.n; i++) {
                program_evaluate(p, words.nodes[i], 0, &name);
                const struct value *v = &name.v[0];
                if (name.n != 1 || v->kind != VALUE_TEXT || !v->text)
                        return NULL;
                const char *slash = memrchr(v->text, '/', v->len), *base = slash ? slash + 1 : v->text;
                const struct bash_command *command = bash_command(base, v->len - (size_t)(base - v->text));
                if (command && command->flags & COMMAND_WRAPPER)
                        continue; /* sudo sh */
                if (!command || !(command->flags & COMMAND_INTERPRETER) || !command->options[0])
                        return NULL;
                return find_program(p, command, &words, i, &word) == FROM_INPUT ? command : NULL;
        }
        return NULL;
}

void bash_check_interpreter(struct program *p, const struct bash_command *command,
                            const struct bash_words *words, size_t first, TSNode node)
{
        struct values code = {.other = true};
        TSNode inner;
        size_t word = 0;
        if (!command->options[0]) {
                check_awk(p, words, first, node);
                return;
        }
        enum program_from from = find_program(p, command, words, first, &word);
        if (from != FROM_NOWHERE && from != FROM_INPUT && word < words->n)
                program_evaluate(p, words->nodes[word], 0, &code);
        switch (from) {
        case FROM_OPTION:
                run_text(p, command->language, &code, node);
                break;
        case FROM_FILE:
                if (word < words->n &&
                    source_kind(p->source, words->nodes[word]) == SH_PROCESS_SUBSTITUTION) {
                        check_say(p, RULE_PIPE_TO_INTERPRETER, node); /* bash <(curl …) */
                        break;
                }
                if (command->language == SCAN_PYTHON)
                        check_module(p, &code, node);
                check_say(p, RULE_EVALUATE, node);
                break;
        case FROM_INPUT:
                if (ts_node_is_null(words->input))
                        break; /* the command that feeds it is checked there */
                if (source_kind(p->source, words->input) == SH_HERESTRING &&
                    source_children(p->source, words->input, &inner, 1) == 1) {
                        program_evaluate(p, inner, 0, &code);
                        run_text(p, command->language, &code, node);
                } else {
                        check_say(p, RULE_PIPE_TO_INTERPRETER, node);
                }
                break;
        case FROM_NOWHERE:
                break;
        }
}

/* ---- pipelines ---- */

static const struct bash_command *first_command(struct program *p, TSNode node, struct bash_words *ret)
{
        struct values name;
        ret->n = 0;
        if (source_kind(p->source, node) == SH_REDIRECTED)
                node = source_child(p->source, node, FIELD_BODY);
        if (ts_node_is_null(node) || source_kind(p->source, node) != SH_COMMAND)
                return NULL;
        bash_words(p, node, ret);
        if (ret->n == 0)
                return NULL;
        program_evaluate(p, ret->nodes[0], 0, &name);
        if (name.n != 1 || name.v[0].kind != VALUE_TEXT || !name.v[0].text)
                return NULL;
        const char *slash = memrchr(name.v[0].text, '/', name.v[0].len),
                   *base = slash ? slash + 1 : name.v[0].text;
        return bash_command(base, name.v[0].len - (size_t)(base - name.v[0].text));
}

/* The output of echo or printf, if it is constant. */
static bool echoed(struct program *p, const struct bash_words *words, struct values *ret)
{
        struct values word;
        for (size_t i = 1; i < words->n; i++) {
                program_evaluate(p, words->nodes[i], 0, &word);
                if (word.n > 0 && word.v[0].kind == VALUE_TEXT && word.v[0].len > 0 &&
                    word.v[0].text[0] == '-')
                        continue;
                *ret = word;
                return word.n > 0 && !word.other && word.v[0].kind == VALUE_TEXT && i + 1 == words->n;
        }
        return false;
}

void bash_check_pipeline(struct program *p, TSNode pipeline)
{
        TSNode stages[16];
        struct bash_words words;
        struct values text;
        bool decodes = false;
        size_t n = source_children(p->source, pipeline, stages, 16);
        for (size_t i = 0; i < n; i++) {
                const struct bash_command *command = first_command(p, stages[i], &words),
                                          *interpreter = i > 0 ? bash_reads_program(p, stages[i]) : NULL;
                decodes |= command && command->flags & COMMAND_DECODES;
                if (!interpreter)
                        continue;
                command = first_command(p, stages[i - 1], &words);
                if (decodes) {
                        check_say(p, RULE_OBFUSCATED_CODE, pipeline);
                } else if (i == 1 && command && command->flags & COMMAND_ECHOES &&
                           !(command->flags & COMMAND_READS) && echoed(p, &words, &text)) {
                        run_text(p, interpreter->language, &text, pipeline);
                } else {
                        check_say(p, RULE_PIPE_TO_INTERPRETER, pipeline);
                }
        }
}

/* ---- here-documents ---- */

static bool has_expansions(struct program *p, TSNode body)
{
        TSNode children[8];
        size_t n = source_children(p->source, body, children, 8);
        for (size_t i = 0; i < n; i++)
                if (source_kind(p->source, children[i]) != SH_HEREDOC_CONTENT)
                        return true;
        return false;
}

static void run_document(struct program *p, const struct bash_command *interpreter, TSNode body)
{
        size_t len;
        const char *text = source_text(p->source, body, &len);
        program_inside(p, interpreter->language, text, len, body);
        if (has_expansions(p, body))
                check_say(p, RULE_EVALUATE, body);
}

/* python3 <<EOF; cat <<EOF | python3 */
static void check_heredoc(struct program *p, TSNode statement, TSNode redirect)
{
        TSNode children[16], stages[8], body = {0};
        struct bash_words words;
        const struct bash_command *interpreter =
                bash_reads_program(p, source_child(p->source, statement, FIELD_BODY));
        const struct bash_command *first = first_command(p, statement, &words);
        size_t n = source_children(p->source, redirect, children, 16);
        for (size_t i = 0; i < n; i++)
                if (source_kind(p->source, children[i]) == SH_HEREDOC_BODY)
                        body = children[i];
        if (ts_node_is_null(body))
                return;
        if (interpreter)
                run_document(p, interpreter, body);
        for (size_t i = 0; i < n; i++) {
                if (source_kind(p->source, children[i]) != SH_PIPELINE)
                        continue;
                size_t n_stages = source_children(p->source, children[i], stages, 8);
                interpreter = n_stages > 0 ? bash_reads_program(p, stages[0]) : NULL;
                if (interpreter && first && !strcmp(first->name, "cat"))
                        run_document(p, interpreter, body);
                else if (interpreter)
                        check_say(p,
                                  first && first->flags & COMMAND_DECODES ? RULE_OBFUSCATED_CODE
                                                                          : RULE_PIPE_TO_INTERPRETER,
                                  children[i]);
        }
}

void bash_check_redirected(struct program *p, TSNode statement)
{
        TSNode children[16], inner;
        struct values code;
        size_t n = source_children(p->source, statement, children, 16), len;
        const struct bash_command *interpreter = bash_reads_program(p, statement);
        for (size_t i = 0; i < n; i++) {
                const char *text = source_text(p->source, children[i], &len);
                switch (source_kind(p->source, children[i])) {
                case SH_HEREDOC_REDIRECT:
                        check_heredoc(p, statement, children[i]);
                        break;
                case SH_FILE_REDIRECT:
                        if (interpreter && len > 0 &&
                            (text[0] == '<' || (text[0] == '0' && len > 1 && text[1] == '<')))
                                check_say(p, RULE_PIPE_TO_INTERPRETER, statement);
                        break;
                case SH_HERESTRING:
                        if (interpreter && source_children(p->source, children[i], &inner, 1) == 1) {
                                program_evaluate(p, inner, 0, &code);
                                run_text(p, interpreter->language, &code, statement);
                        }
                        break;
                default:
                        break;
                }
        }
}
