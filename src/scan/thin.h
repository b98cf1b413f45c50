/* scan/thin.h -- leaves out of a long text what it repeats and what cannot matter, before it is parsed.
 *
 * A parser takes half a microsecond for each token, however dull; texts that somebody generated, and data
 * written as code, have a million of them.  So a cheap reader splits the text into its statements ("units")
 * and takes two things down of each: its skeleton, in which all names and numbers are the same, and its
 * words.  Words in one unit belong together, and so do those that belong together with the same one.
 *
 * A unit is left out if none of the words that belong together with its own is one that the scanner knows, so
 * that neither it nor what it binds can be, or come to be, a finding; and if one with the same skeleton came
 * before and is parsed, so that it is well-formed if that one is.  Or, whatever it is, if its text was there
 * so often that no more findings of it would be kept.
 *
 * In place of each run of such units a statement that does nothing is put, and blanks: nothing changes its
 * place.  Of long lists, what is behind the elements that anybody looks at goes in the same way, and so do
 * long comments (scan/thin_holes.c).
 *
 * The reader only guesses where strings end and statements begin.  Whether it was right is told by the
 * parser, of what is left: each place in "marks" (where a run was, where what others were like is, and what
 * comes behind either) must be the beginning of a statement of the text itself; nothing may stand in a hole;
 * nothing may be malformed. Otherwise the whole text is parsed as it is.  So up to a run the parser and the
 * reader saw the same, and at its beginning both were at the beginning of a statement. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/scan.h"

/* What a word is in a language. */
enum thin_class {
        THIN_PLAIN, /* a name of the program's own: any other would do as well */
        THIN_FIXED, /* a keyword, or what makes no finding but is not like others either */
        THIN_KNOWN, /* of interest, and with it what is in the same unit */
        THIN_STOP,  /* names may be made from texts: nothing can be left out */
};

struct thin_language {
        enum scan_language language;
        char filler; /* a statement that does nothing */
        enum thin_class (*classify)(const char *word, size_t len);
};

/* A part of the text that was left out of a statement. */
struct thin_hole {
        uint32_t from, to;
        uint32_t unit;
        bool data; /* constants only, which may go wherever they are */
};

struct thin {
        char *text;  /* NULL: it is best parsed as it is */
        size_t left; /* of it, in bytes */
        uint32_t *marks;
        size_t n_marks;
        struct thin_hole *holes;
        size_t n_holes;
};

/* Texts of fewer bytes are left alone.  Tests change it. */
extern size_t thin_from;

/* -ENOMEM; -E2BIG: there is something in it that would be refused for its depth.  thin_done() in any case. */
int thin_init(struct thin *ret, const struct thin_language *language, const char *text, size_t len);
void thin_done(struct thin *thin);
