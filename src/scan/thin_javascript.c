/* scan/thin_javascript.c -- reads JavaScript, unit by unit: up to a semicolon, or the end of a line that
 * stands for one. */
#include "scan/thin_read.h"

bool thin_javascript_skip(struct thin_reader *r)
{
        bool line = false;
        for (const size_t gap = r->at;;) {
                const char c = thin_byte_at(r, r->at), next = thin_byte_at(r, r->at + 1);
                if (c == '\n' || thin_kind_at(r, r->at) & BYTE_BLANK) {
                        line |= c == '\n';
                        r->at++;
                } else if (c == '/' && next == '/') {
                        thin_read_comment(r);
                } else if (c == '/' && next == '*') {
                        const char *end = memmem(r->text + r->at + 2, r->len - r->at - 2, "*/", 2);
                        size_t to = end ? (size_t)(end - r->text) + 2 : r->len;
                        line |= memchr(r->text + r->at, '\n', to - r->at) != NULL;
                        if (!end) { /* which is an error */
                                thin_say_known(r);
                                r->at = r->len;
                                return line;
                        }
                        r->at = to;
                } else {
                        thin_add_gap(r, gap, r->at);
                        return line;
                }
        }
}

/* What comes first in a line cannot belong to what was before: a semicolon is put there. */
static bool javascript_begins(struct thin_reader *r, char last)
{
        size_t end = thin_word_end(r, r->at), first = thin_word_end(r, r->unit.from) - r->unit.from;
        /* if (a), and in the next line what it is for */
        if (last != ';' && last != '}' && thin_is_word(r, r->unit.from, first, "if for while with do else"))
                return false;
        return thin_ends_value(last) && thin_kind_at(r, r->at) & BYTE_WORD &&
               !thin_is_word(r, r->at, end - r->at,
                             "else while catch finally in instanceof of as from extends");
}

/* To the end of a regular expression, which has none in the next line. */
static void javascript_pattern(struct thin_reader *r)
{
        size_t from = r->at++;
        bool set = false;
        for (; r->at < r->len && r->text[r->at] != '\n'; r->at++) {
                const char c = r->text[r->at];
                if (c == '\\')
                        r->at++;
                else if (c == '/' && !set)
                        break;
                else
                        set = c == '[' || (set && c != ']');
        }
        r->at = r->at < r->len ? r->at + (r->text[r->at] == '/') : r->len;
        thin_mix_text(r, from, r->at);
}

void thin_read_javascript(struct thin_reader *r)
{
        /* What ends with its bracket. */
        const bool declares = r->text[r->at] == '{' ||
                              thin_is_word(r, r->at, thin_word_end(r, r->at) - r->at, "function class");
        char last = ';';
        while (r->at < r->len) {
                const char c = r->text[r->at];
                if (c == '\n' || thin_kind_at(r, r->at) & BYTE_BLANK ||
                    (c == '/' && (thin_byte_at(r, r->at + 1) == '/' || thin_byte_at(r, r->at + 1) == '*'))) {
                        bool line = thin_javascript_skip(r);
                        if (line && r->depth == 0 && javascript_begins(r, last))
                                return;
                        thin_mix(r, line ? '\n' : ' ');
                        if (line) /* a statement may have ended */
                                thin_level(r)->sums = thin_level(r)->members = 0;
                        continue;
                }
                if (c == '"' || c == '\'' || c == '`') {
                        thin_read_string(r, false, c == '`');
                } else if (thin_kind_at(r, r->at) & BYTE_WORD || c == '$') {
                        thin_read_word(r);
                } else if (thin_kind_at(r, r->at) & BYTE_DIGIT) {
                        thin_read_number(r);
                } else if (c == '/' && !thin_ends_value(last)) {
                        javascript_pattern(r);
                } else {
                        r->computed |= c == '[' && thin_ends_value(last);
                        thin_read_sign(r, thin_ends_value(last));
                }
                last = c;
                if (r->depth == 0 && (c == ';' || (c == '}' && declares))) {
                        r->unit.semicolon = (uint32_t)r->at;
                        thin_javascript_skip(r);
                        return;
                }
        }
}
