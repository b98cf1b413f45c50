#include "scan/thin_read.h"

#include "scan/source.h"

#define LITERAL_MAX 900 /* a longer one is of interest by itself */

const unsigned char thin_kinds[256] = {
        ['a' ... 'z'] = BYTE_WORD,  ['A' ... 'Z'] = BYTE_WORD,   ['_'] = BYTE_WORD,
        ['0' ... '9'] = BYTE_DIGIT, [0x80 ... 0xff] = BYTE_WORD, [' '] = BYTE_BLANK,
        ['\t'] = BYTE_BLANK,        ['\r'] = BYTE_BLANK,         ['\f'] = BYTE_BLANK,
};

bool thin_is_word(const struct thin_reader *r, size_t from, size_t len, const char *list)
{
        for (const char *at = list; *at; at += strcspn(at, " "), at += *at == ' ')
                if (strcspn(at, " ") == len && !memcmp(at, r->text + from, len))
                        return true;
        return false;
}

size_t thin_word_end(const struct thin_reader *r, size_t at)
{
        while (thin_kind_at(r, at) & (BYTE_WORD | BYTE_DIGIT) ||
               (thin_byte_at(r, at) == '$' && r->language->language == SCAN_JAVASCRIPT))
                at++;
        return at;
}

void thin_read_word(struct thin_reader *r)
{
        size_t from = r->at;
        struct thin_level *level = thin_level(r);
        level->data = false;
        r->at = thin_word_end(r, from);
        enum thin_class class = thin_add_word(r, from, r->at - from);
        if (class == THIN_PLAIN)
                thin_mix(r, 'N');
        else
                thin_mix_text(r, from, r->at);
        if (class == THIN_FIXED) /* a keyword that may be an operator */
                level->sums = level->members = 0;
}

void thin_read_number(struct thin_reader *r)
{
        size_t from = r->at;
        while (thin_kind_at(r, r->at) & BYTE_DIGIT)
                r->at++;
        bool plain = (r->text[from] != '0' || r->at - from == 1) && !(thin_kind_at(r, r->at) & BYTE_WORD),
             whole = true;
        if (plain && thin_byte_at(r, r->at) == '.' && thin_kind_at(r, r->at + 1) & BYTE_DIGIT) {
                whole = false;
                for (r->at++; thin_kind_at(r, r->at) & BYTE_DIGIT;)
                        r->at++;
        }
        plain &= thin_byte_at(r, r->at) != '.' && !(thin_kind_at(r, r->at) & BYTE_WORD);
        while (thin_kind_at(r, r->at) & (BYTE_DIGIT | BYTE_WORD) || thin_byte_at(r, r->at) == '.')
                r->at++;
        if (plain)
                thin_mix(r, whole ? '0' : '1');
        else
                thin_mix_text(r, from, r->at);
        thin_level(r)->data &= plain;
}

void thin_read_comment(struct thin_reader *r)
{
        const char *end = memchr(r->text + r->at, '\n', r->len - r->at);
        r->at = end ? (size_t)(end - r->text) : r->len;
}

void thin_read_blanks(struct thin_reader *r)
{
        for (r->at++; thin_kind_at(r, r->at) & BYTE_BLANK;)
                r->at++;
        thin_mix(r, ' ');
}

/* What is in a string: its words may become names. */
void thin_read_content(struct thin_reader *r, size_t from, size_t to)
{
        bool plain = true;
        if (to - from > LITERAL_MAX) {
                thin_say_known(r);
                thin_level(r)->keep = true;
        }
        for (size_t i = from; i < to;) {
                unsigned char c = (unsigned char)r->text[i];
                plain &= c >= ' ' && c < 0x7f && !strchr("\\{}$%`", c);
                if (!(thin_kinds[c] & (BYTE_WORD | BYTE_DIGIT))) {
                        i++;
                        continue;
                }
                size_t end = i;
                while (end < to && thin_kinds[(unsigned char)r->text[end]] & (BYTE_WORD | BYTE_DIGIT))
                        plain &= (unsigned char)r->text[end++] < 0x80;
                if (thin_kinds[c] & BYTE_WORD) {
                        thin_add_word(r, i, end - i);
                        r->unit.flags |= THIN_UNIT_TEXT;
                }
                i = end;
        }
        if (plain) {
                thin_mix(r, 'S');
        } else {
                thin_mix_text(r, from, to);
                r->unit.flags |= THIN_UNIT_TEXT; /* letters may be written as numbers */
        }
        thin_level(r)->data &= plain;
}

/* Anything else.  Operators in a row make a tree as deep as they are many. */
void thin_read_sign(struct thin_reader *r, bool after_value)
{
        const char c = r->text[r->at];
        struct thin_level *level = thin_level(r);
        bool opens = c == '(' || c == '[' || c == '{', closes = c == ')' || c == ']' || c == '}';
        if (c == '.' || (opens && c != '{' && after_value))
                level->members++;
        else if (c == '+' || c == '-')
                level->sums++, level->members = 0;
        else if (!closes)
                level->members = 0, level->sums = strchr("*/%(", c) ? level->sums : 0;
        r->too_deep |= level->members > SOURCE_DEPTH_MAX || level->sums > SOURCE_DEPTH_MAX;
        if (c == ',' || (c == ';' && level->block))
                thin_comma(r);
        else if (closes)
                thin_close(r);
        else if (!opens && c != '-' && c != ':')
                level->data = false;
        thin_mix(r, c);
        if (opens)
                thin_open(r);
        thin_level(r)->block |= opens && c == '{';
        thin_level(r)->sequence |= opens && r->language->language == SCAN_JAVASCRIPT &&
                                   ((c == '(' && !after_value) || (c == '[' && after_value));
        r->at++;
}

/* A string; at is at its quote. */
void thin_read_string(struct thin_reader *r, bool triple, bool lines)
{
        const char quote = r->text[r->at];
        const size_t width = triple ? 3 : 1;
        size_t at = r->at + width, from = at;
        for (; at < r->len; at++) {
                const char c = r->text[at];
                if (c == '\\')
                        at++;
                else if ((c == '\n' && !lines) ||
                         (c == quote && (!triple || (thin_byte_at(r, at + 1) == quote &&
                                                     thin_byte_at(r, at + 2) == quote))))
                        break;
        }
        if (at >= r->len || r->text[at] == '\n') {
                at = at < r->len ? at : r->len;
                thin_say_known(r);
                thin_level(r)->keep = true;
        }
        thin_mix(r, quote);
        thin_mix(r, (char)width);
        thin_read_content(r, from, at);
        r->at = at + width < r->len ? at + width : r->len;
        if (at < r->len && r->text[at] == '\n')
                r->at = at;
}

void thin_read(struct thin_reader *r)
{
        r->depth = 0;
        r->levels[0] = (struct thin_level){0};
        switch (r->language->language) {
        case SCAN_PYTHON:
                thin_read_python(r);
                break;
        case SCAN_JAVASCRIPT:
                thin_read_javascript(r);
                break;
        default:
                thin_read_shell(r);
        }
}

void thin_skip(struct thin_reader *r)
{
        if (r->language->language == SCAN_JAVASCRIPT) {
                /* Comments of HTML are some only where they stand in the right place. */
                r->stop = memmem(r->text, r->len, "<!--", 4) || memmem(r->text, r->len, "-->", 3);
                if (thin_byte_at(r, 0) == '#')
                        thin_read_comment(r);
                thin_javascript_skip(r);
        } else if (r->language->language == SCAN_PYTHON) {
                thin_python_line(r);
        } else {
                thin_shell_goes_on(r, 0);
        }
}
