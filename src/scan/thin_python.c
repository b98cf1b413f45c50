/* scan/thin_python.c -- reads Python, unit by unit: a line, with the lines that are indented below it. */
#include "scan/thin_read.h"

size_t thin_python_line(struct thin_reader *r)
{
        for (const size_t gap = r->at;;) {
                size_t from = r->at;
                while (thin_kind_at(r, r->at) & BYTE_BLANK)
                        r->at++;
                if (thin_byte_at(r, r->at) == '#')
                        thin_read_comment(r);
                if (r->at < r->len && r->text[r->at] == '\n') {
                        r->at++;
                        continue;
                }
                thin_add_gap(r, gap, r->at < r->len ? from : r->len);
                return r->at < r->len ? r->at - from : 0;
        }
}

/* A line of the unit, and the one before it. */
struct line {
        size_t from, begin; /* its first byte; the first behind its indentation */
        size_t indent;
        bool simple; /* nothing that belongs to it follows in further lines */
};

static bool python_goes_on(struct thin_reader *r, struct line *line)
{
        const bool decorator = r->text[line->begin] == '@';
        line->from = r->at;
        line->indent = thin_python_line(r);
        line->begin = r->at;
        if (r->at >= r->len)
                return false;
        return line->indent > 0 || decorator ||
               thin_is_word(r, r->at, thin_word_end(r, r->at) - r->at, "else elif except finally");
}

/* A line like others of the unit may go if the one before is on the same level: then there is no block that
 * begins with it, or that it leaves empty. */
static bool python_end_line(struct thin_reader *r, struct line *line, struct line *before, char last)
{
        struct thin_level *level = &r->levels[0];
        line->simple = last != ':' && r->text[line->begin] != '@';
        if (thin_was_there(level) && line->simple && before->simple && line->indent == before->indent &&
            line->indent > 0)
                thin_add_hole(r, line->from, r->at, false);
        *before = *line;
        level->skeleton = 0;
        level->sums = level->members = 0;
        if (!python_goes_on(r, line))
                return false;
        for (size_t i = line->begin - line->indent; i < line->begin; i++)
                r->skeleton = (r->skeleton ^ (unsigned char)r->text[i]) * 1099511628211u;
        return true;
}

static bool python_is_prefix(const struct thin_reader *r, size_t from, size_t to)
{
        if (to - from > 2 || (thin_byte_at(r, to) != '"' && thin_byte_at(r, to) != '\''))
                return false;
        for (size_t i = from; i < to; i++)
                if (!strchr("rRbBuUfFtT", r->text[i]))
                        return false;
        return true;
}

/* "import *": any name may be one of that module. */
static bool python_is_star(const struct thin_reader *r)
{
        size_t at = r->at;
        while (at > r->unit.from &&
               (thin_kind_at(r, at - 1) & BYTE_BLANK || strchr("(\\\n", r->text[at - 1])))
                at--;
        return at >= r->unit.from + 6 && !memcmp(r->text + at - 6, "import", 6);
}

/* A name, a number, a string, a sign. */
static void python_token(struct thin_reader *r, char last)
{
        const char c = r->text[r->at];
        const unsigned kind = thin_kind_at(r, r->at);
        const size_t end = thin_word_end(r, r->at);
        if (c == '"' || c == '\'') {
                bool triple = thin_byte_at(r, r->at + 1) == c && thin_byte_at(r, r->at + 2) == c;
                thin_read_string(r, triple, triple);
        } else if (kind & BYTE_DIGIT) {
                thin_read_number(r);
        } else if (kind & BYTE_WORD && python_is_prefix(r, r->at, end)) {
                thin_mix_text(r, r->at, end);
                thin_level(r)->data = false;
                r->at = end;
        } else if (kind & BYTE_WORD) {
                thin_read_word(r);
        } else {
                r->made_up |= c == '*' && python_is_star(r);
                thin_read_sign(r, thin_ends_value(last));
                r->at += c == '\\' && thin_byte_at(r, r->at) == '\n';
        }
}

void thin_read_python(struct thin_reader *r)
{
        struct line line = {.from = r->at, .begin = r->at}, before = {0};
        char last = ';'; /* that is not blank */
        while (r->at < r->len) {
                const char c = r->text[r->at];
                if (c == '\n' && r->depth == 0) {
                        thin_mix(r, c);
                        r->at++;
                        if (!python_end_line(r, &line, &before, last))
                                return;
                        last = ';';
                } else if (c == '\n' || thin_kind_at(r, r->at) & BYTE_BLANK) {
                        thin_read_blanks(r);
                } else if (c == '#') {
                        thin_read_comment(r);
                } else {
                        python_token(r, last);
                        last = c;
                }
        }
}
