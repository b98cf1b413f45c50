/* scan/bash/value.c -- evaluates words of a shell. */
#include <string.h>

#include "base/auto.h"
#include "scan/bash/bash.h"
#include "scan/escape.h"

#define PIECES_MAX 64

static void add_plain(struct program *p, struct values *ret, const char *text, size_t len)
{
        values_add_text(ret, &p->arena, VALUE_TEXT, text, len);
}

/* Removes backslashes: in a word before any character, in a string before special characters. */
static void unquoted(struct program *p, const char *text, size_t len, bool in_string, struct values *ret)
{
        char *plain;
        size_t used = 0;
        if (!memchr(text, '\\', len)) {
                values_add(ret, &(struct value){.kind = VALUE_TEXT, .text = text, .len = (uint32_t)len});
                return;
        }
        plain = len <= VALUE_TEXT_MAX ? arena_alloc(&p->arena, len + 1) : NULL;
        if (!plain) {
                ret->other = true;
                return;
        }
        for (size_t i = 0; i < len; i++) {
                bool escape =
                        text[i] == '\\' && i + 1 < len && (!in_string || strchr("$`\"\\\n", text[i + 1]));
                if (escape && text[++i] == '\n')
                        continue;
                plain[used++] = text[i];
        }
        values_add(ret, &(struct value){.kind = VALUE_TEXT, .text = plain, .len = (uint32_t)used});
}

static void join_pieces(struct program *p, const TSNode *pieces, size_t n, uint32_t scope, struct values *ret)
{
        struct values whole = {0}, part;
        add_plain(p, &whole, "", 0);
        for (size_t i = 0; i < n; i++) {
                program_evaluate(p, pieces[i], scope, &part);
                values_append(&whole, &p->arena, JOIN_CONCAT, &part);
        }
        if (n == PIECES_MAX)
                whole.other = true;
        values_add_all(ret, &whole);
}

static void bash_variable(struct program *p, TSNode name, uint32_t scope, struct values *ret)
{
        static const struct {
                const char *name, *value;
        } usual[] = {{"HOME", "~"}, {"PWD", "."}, {"OLDPWD", ".."}, {"TMPDIR", "/tmp"}};
        static const char *const numbers[] = {"$",   "#",    "?",    "!",      "RANDOM", "SECONDS",
                                              "UID", "EUID", "PPID", "LINENO", "BASHPID"};
        struct values found;
        program_lookup(p, name, scope, &found);
        bool unbound = found.n == 1 && found.v[0].kind == VALUE_NAME;
        if (!unbound) {
                values_add_all(ret, &found);
                return;
        }
        for (size_t i = 0; i < ARRAY_LEN(usual); i++)
                if (source_is(p->source, name, usual[i].name)) {
                        add_plain(p, ret, usual[i].value, strlen(usual[i].value));
                        return;
                }
        for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
                if (source_is(p->source, name, numbers[i])) {
                        values_add(ret, &(struct value){.kind = VALUE_NUMBER});
                        return;
                }
        ret->other = true;
}

/* An array variable stands for its elements. */
static void elements(struct program *p, const struct values *of, struct values *ret)
{
        ret->other |= of->other;
        for (unsigned i = 0; i < of->n; i++) {
                if (of->v[i].kind == VALUE_LIST)
                        program_elements(p, &of->v[i], ret);
                else
                        values_add(ret, &of->v[i]);
        }
}

/* ${name}, ${name:-default}, ${name[0]}; other forms change the text. */
static void expansion(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        TSNode parts[4], name;
        struct values found = {0}, standard;
        size_t n = source_children(p->source, node, parts, 4);
        TSNode sign = source_child(p->source, node, FIELD_OPERATOR);
        if (n == 0) {
                ret->other = true;
                return;
        }
        name = parts[0];
        if (source_kind(p->source, name) == SH_SUBSCRIPT)
                name = source_child(p->source, name, FIELD_NAME);
        bash_variable(p, name, scope, &found);
        if (ts_node_is_null(sign)) {
                elements(p, &found, ret);
        } else if (n == 2 && (source_is(p->source, sign, ":-") || source_is(p->source, sign, "-") ||
                              source_is(p->source, sign, ":=") || source_is(p->source, sign, "="))) {
                if (found.n > 0)
                        elements(p, &found, ret);
                program_evaluate(p, parts[1], scope, &standard);
                values_add_all(ret, &standard);
                /* The environment may set any value; a value in the text is taken as the intended one. */
        } else if (source_is(p->source, sign, "#") && n == 1) {
                values_add(ret, &(struct value){.kind = VALUE_NUMBER});
        } else {
                values_transform(ret, &p->arena, TRANSFORM_DECODE, &found);
                ret->other = true;
        }
}

/* $(which curl), $(echo cu)rl, $(mktemp -d), $(date +%s) */
static void substitution(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        struct bash_words words;
        struct values name;
        TSNode command;
        if (source_children(p->source, node, &command, 1) != 1) {
                ret->other = true;
                return;
        }
        if (source_kind(p->source, command) == SH_PIPELINE) {
                size_t len;
                const char *text = source_text(p->source, command, &len);
                /* echo … | base64 -d: hidden text */
                if (memmem(text, len, "base64", 6) || memmem(text, len, "xxd", 3) ||
                    memmem(text, len, "rev", 3))
                        values_add(ret, &(struct value){.kind = VALUE_BYTES, .decoded = true});
                else
                        ret->other = true;
                return;
        }
        if (source_kind(p->source, command) != SH_COMMAND) {
                ret->other = true;
                return;
        }
        bash_words(p, command, &words);
        if (words.n == 0) {
                ret->other = true;
                return;
        }
        program_evaluate(p, words.nodes[0], scope, &name);
        const struct value *v = &name.v[0];
        const struct bash_command *known =
                name.n == 1 && v->kind == VALUE_TEXT ? bash_command(v->text, v->len) : NULL;
        if (name.n != 1 || v->kind != VALUE_TEXT) {
                ret->other = true;
                return;
        }
        if (words.n > 1 && (bash_has_word("which command type", v->text, v->len) ||
                            (words.n == 2 && bash_has_word("echo printf", v->text, v->len))))
                program_evaluate(p, words.nodes[words.n - 1], scope, ret);
        else if (bash_has_word("mktemp", v->text, v->len) && words.n < 3)
                add_plain(p, ret, "/tmp/tmp", 8);
        else if (bash_has_word("pwd", v->text, v->len))
                add_plain(p, ret, ".", 1);
        else if (bash_has_word("seq nproc date wc id", v->text, v->len))
                values_add(ret, &(struct value){.kind = VALUE_NUMBER});
        else if (known && known->flags & COMMAND_DECODES)
                values_add(ret, &(struct value){.kind = VALUE_BYTES, .decoded = true});
        else
                ret->other = true;
}

void bash_evaluate(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        TSNode pieces[PIECES_MAX];
        struct values found = {0};
        size_t len, n;
        char *plain;
        const char *text = source_text(p->source, node, &len);
        switch (source_kind(p->source, node)) {
        case SH_WORD:
        case SH_NUMBER:
                unquoted(p, text, len, false, ret);
                break;
        case SH_STRING_CONTENT:
                unquoted(p, text, len, true, ret);
                break;
        case SH_RAW_STRING:
                if (len >= 2)
                        values_add(ret, &(struct value){.kind = VALUE_TEXT,
                                                        .text = text + 1,
                                                        .len = (uint32_t)len - 2});
                break;
        case SH_ANSI_C_STRING:
                plain = len >= 3 && len <= VALUE_TEXT_MAX ? arena_alloc(&p->arena, len) : NULL;
                if (plain)
                        values_add(ret, &(struct value){.kind = VALUE_TEXT,
                                                        .text = plain,
                                                        .len = (uint32_t)escape_decode(
                                                                ESCAPES_SHELL, text + 2, len - 3, plain)});
                break;
        case SH_STRING:
        case SH_CONCATENATION:
        case SH_COMMAND_NAME:
        case SH_TRANSLATED_STRING:
                n = source_children(p->source, node, pieces, PIECES_MAX);
                if (n == 1 && source_kind(p->source, node) != SH_STRING)
                        program_evaluate(p, pieces[0], scope, ret);
                else
                        join_pieces(p, pieces, n, scope, ret);
                break;
        case SH_SIMPLE_EXPANSION:
                if (source_children(p->source, node, pieces, 1) == 1) {
                        bash_variable(p, pieces[0], scope, &found);
                        elements(p, &found, ret);
                }
                break;
        case SH_EXPANSION:
                expansion(p, node, scope, ret);
                break;
        case SH_ARITHMETIC:
        case SH_BRACE:
                values_add(ret, &(struct value){.kind = VALUE_NUMBER});
                break;
        case SH_ARRAY:
                values_add(ret, &(struct value){.kind = VALUE_LIST, .node = node, .scope = scope});
                break;
        case SH_COMMAND_SUBSTITUTION:
                substitution(p, node, scope, ret);
                break;
        default:
                ret->other = true;
        }
}
