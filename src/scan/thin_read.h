/* scan/thin_read.h -- what the readers of the three languages share (see scan/thin.h).
 *
 * They are as fast as can be, and not exact.  Each reads one unit: a statement at the top of the text, with
 * all that is in it. */
#pragma once
#include <string.h>

#include "scan/thin_units.h"

enum { BYTE_WORD = 1, BYTE_DIGIT = 2, BYTE_BLANK = 4 };
extern const unsigned char thin_kinds[256];

static inline unsigned thin_kind_at(const struct thin_reader *r, size_t at)
{
        return at < r->len ? thin_kinds[(unsigned char)r->text[at]] : 0;
}

/* 0 behind the end: no text that gets here has one in it. */
static inline char thin_byte_at(const struct thin_reader *r, size_t at)
{
        return (char)(at < r->len ? r->text[at] : '\0');
}

/* Whether what ends with this byte is a value, so that what follows is an operator. */
static inline bool thin_ends_value(char last)
{
        return strchr(")]}\"'`", last) || thin_kinds[(unsigned char)last] & (BYTE_WORD | BYTE_DIGIT);
}

/* Adds to the skeleton of the unit, and to that of the element in it. */
static inline void thin_mix(struct thin_reader *r, char c)
{
        struct thin_level *level = thin_level(r);
        r->skeleton = (r->skeleton ^ (unsigned char)c) * 1099511628211u;
        level->skeleton = (level->skeleton ^ (unsigned char)c) * 1099511628211u;
}

static inline void thin_mix_text(struct thin_reader *r, size_t from, size_t to)
{
        for (size_t i = from; i < to; i++)
                thin_mix(r, r->text[i]);
}

/* The unit is of interest by itself. */
static inline void thin_say_known(struct thin_reader *r)
{
        r->unit.flags |= THIN_UNIT_KNOWN;
}

/* Whether a part of the text is one of the words in a list. */
bool thin_is_word(const struct thin_reader *reader, size_t from, size_t len, const char *list);
size_t thin_word_end(const struct thin_reader *reader, size_t at);

/* Each reads what at is at, and goes on behind it. */
void thin_read_word(struct thin_reader *reader);
void thin_read_number(struct thin_reader *reader);
void thin_read_comment(struct thin_reader *reader); /* to the end of its line */
void thin_read_blanks(struct thin_reader *reader);  /* also the end of a line, if it is one */
/* lines: it may have several. */
void thin_read_string(struct thin_reader *reader, bool triple, bool lines);
/* Anything else. */
void thin_read_sign(struct thin_reader *reader, bool after_value);

/* What is in a string, from here to there. */
void thin_read_content(struct thin_reader *reader, size_t from, size_t to);

void thin_read_python(struct thin_reader *reader);
void thin_read_javascript(struct thin_reader *reader);
void thin_read_shell(struct thin_reader *reader);

/* To the next line that has something on it; how far that is indented. */
size_t thin_python_line(struct thin_reader *reader);
/* Over blanks, ends of lines and comments; whether there was a line's end. */
bool thin_javascript_skip(struct thin_reader *reader);
/* Over the ends of lines; whether the unit goes on behind them.  level: of its blocks. */
bool thin_shell_goes_on(struct thin_reader *reader, int level);
