/* scan/thin_shell.c -- reads shell, unit by unit: a line, or all of those that belong together. */
#include "scan/thin_read.h"

#define SHELL_WORDS_MAX 70  /* of a command; more than are ever looked at, */
#define SHELL_WORDS_TOLD 50 /* which makes a finding by itself */

/* What opens and closes, of the words that a command begins with. */
static int shell_level(const struct thin_reader *r, size_t from, size_t len)
{
        if (thin_is_word(r, from, len, "if case for while until select"))
                return 1;
        return thin_is_word(r, from, len, "fi esac done") ? -1 : 0;
}

/* Words here are also the names of commands and options. */
static void read_shell_word(struct thin_reader *r, bool first, int *level)
{
        size_t from = r->at, blanks = from;
        while (thin_kind_at(r, r->at) & (BYTE_WORD | BYTE_DIGIT) ||
               (r->at < r->len && strchr(".-+", r->text[r->at])))
                r->at++;
        size_t len = r->at - from;
        bool number = true;
        for (size_t i = from; i < r->at; i++)
                number &= (thin_kinds[(unsigned char)r->text[i]] & BYTE_DIGIT) != 0;
        if (first)
                *level += shell_level(r, from, len);
        /* "cu"rl is curl */
        if (thin_byte_at(r, r->at) == '"' || thin_byte_at(r, r->at) == '\'' ||
            (from > 0 && (r->text[from - 1] == '"' || r->text[from - 1] == '\'')))
                thin_say_known(r);
        bool plain = number || (thin_add_word(r, from, len) == THIN_PLAIN && r->text[from] != '-');
        if (plain)
                thin_mix(r, number ? '0' : 'N');
        else
                thin_mix_text(r, from, r->at);
        if (thin_level(r)->n >= SHELL_WORDS_TOLD)
                thin_say_known(r);
        /* Of a command with so many words the last ones are not looked at. */
        while (blanks > r->unit.from && (r->text[blanks - 1] == ' ' || r->text[blanks - 1] == '\t'))
                blanks--;
        if (thin_level(r)->n++ >= SHELL_WORDS_MAX && plain && blanks < from &&
            (r->at == r->len || r->text[r->at] == '\n' || thin_kind_at(r, r->at) & BYTE_BLANK))
                thin_add_hole(r, blanks, r->at, true);
}

bool thin_shell_goes_on(struct thin_reader *r, int level)
{
        size_t last = r->at, gap = last;
        while (last > r->unit.from && thin_kinds[(unsigned char)r->text[last - 1]] & BYTE_BLANK)
                last--;
        /* a |, or f(), and in the next line the rest */
        bool open = last > r->unit.from + 1 &&
                    (r->text[last - 1] == '|' || !memcmp(r->text + last - 2, "&&", 2) ||
                     !memcmp(r->text + last - 2, "()", 2));
        while (r->at < r->len &&
               (r->text[r->at] == '\n' || thin_kind_at(r, r->at) & BYTE_BLANK || r->text[r->at] == '#')) {
                if (r->text[r->at] == '#')
                        thin_read_comment(r);
                else
                        r->at++;
        }
        thin_add_gap(r, gap, r->at);
        return open || level > 0 || r->depth > 0;
}

/* What a here-document ends with. */
struct mark {
        size_t from, len;
};

/* "<<EOF", "<<-'EOF'", or "<<<", which has none. */
static void shell_mark(struct thin_reader *r, struct mark *ret)
{
        size_t from = r->at;
        thin_say_known(r);
        for (r->at += 2; r->at < r->len && strchr("-'\"\\ <", r->text[r->at]); r->at++)
                continue;
        thin_mix_text(r, from, r->at);
        if (r->text[from + 2 < r->len ? from + 2 : from] == '<')
                return;
        ret->from = r->at;
        while (thin_kind_at(r, r->at) & (BYTE_WORD | BYTE_DIGIT))
                thin_mix(r, r->text[r->at++]);
        ret->len = r->at - ret->from;
        r->at += thin_byte_at(r, r->at) == '\'' || thin_byte_at(r, r->at) == '"';
}

/* From the end of a line to that of the line which is the mark. */
static void shell_document(struct thin_reader *r, struct mark *mark)
{
        size_t from = r->at, to = from;
        while (to < r->len) {
                size_t line = to + 1;
                for (; thin_byte_at(r, line) == '\t';)
                        line++;
                const char *end = line < r->len ? memchr(r->text + line, '\n', r->len - line) : NULL;
                to = end ? (size_t)(end - r->text) : r->len;
                if (to - line == mark->len && !memcmp(r->text + line, r->text + mark->from, mark->len))
                        break;
        }
        r->at = to < r->len ? to : r->len;
        thin_read_content(r, from, r->at);
        mark->len = 0;
}

void thin_read_shell(struct thin_reader *r)
{
        struct mark mark = {0};
        int level = 0;
        bool first = true;
        while (r->at < r->len) {
                const char c = r->text[r->at];
                if (c == '\n') {
                        thin_mix(r, c);
                        if (mark.len > 0)
                                shell_document(r, &mark);
                        if (!thin_shell_goes_on(r, level))
                                return;
                        first = true;
                        thin_level(r)->n = 0;
                } else if (thin_kind_at(r, r->at) & BYTE_BLANK) {
                        thin_read_blanks(r);
                } else if (c == '#' && r->at > 0 && strchr(" \t\n;", r->text[r->at - 1])) {
                        thin_read_comment(r);
                } else if (thin_kind_at(r, r->at) & (BYTE_WORD | BYTE_DIGIT) || strchr(".-+", c)) {
                        size_t from = r->at;
                        read_shell_word(r, first, &level);
                        first = first &&
                                thin_is_word(r, from, r->at - from, "then do else elif if while until");
                } else if (c == '"' || c == '\'') {
                        if (first || (r->at > 0 && !strchr(" \t\n=", r->text[r->at - 1])))
                                thin_say_known(r);
                        thin_read_string(r, false, true);
                        first = false;
                } else if (c == '<' && thin_byte_at(r, r->at + 1) == '<') {
                        shell_mark(r, &mark);
                } else {
                        /* What is worked out when it runs is of interest. */
                        const bool twice =
                                thin_byte_at(r, r->at + 1) == c || (r->at > 0 && r->text[r->at - 1] == c);
                        if (!strchr("=;|(){}&,:@", c) || ((c == '&' || c == '|') && !twice) ||
                            (c == '{' && thin_byte_at(r, r->at + 1) != ' ' &&
                             thin_byte_at(r, r->at + 1) != '\n'))
                                thin_say_known(r);
                        r->made_up |= c == '$' && thin_byte_at(r, r->at + 1) == '{' &&
                                      thin_byte_at(r, r->at + 2) == '!';
                        first = strchr(";|&({", c) != NULL || (first && c != '=');
                        if (c == ')' || c == '}')
                                thin_close(r);
                        thin_mix(r, c);
                        if (c == '(' || c == '{')
                                thin_open(r);
                        if (strchr(";|&", c))
                                thin_level(r)->n = 0;
                        r->at += c == '\\' && r->at + 1 < r->len ? 2 : 1;
                }
        }
}
