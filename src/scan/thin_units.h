/* scan/thin_units.h -- what the two files that make a text thinner share: its units and their words. */
#pragma once
#include "scan/thin.h"

#define THIN_WORDS_MAX (1u << 18)
#define THIN_UNITS_MAX (1u << 21)
#define THIN_PROBES_MAX 1000 /* for a place in a table: somebody has made the names so */

struct thin_word {
        uint32_t from, len, hash;
        uint32_t parent; /* another that it belongs together with; itself: none */
        uint8_t class;
        bool known; /* of the last parent: one of those that belong together is of interest */
};

enum {
        THIN_UNIT_KNOWN = 1 << 0, /* of interest by itself */
        THIN_UNIT_TEXT = 1 << 1,  /* has a string with letters in it */
        THIN_UNIT_FIRST = 1 << 2, /* of its skeleton */
        THIN_UNIT_MODEL = 1 << 3, /* another was left out since this one is there */
        THIN_UNIT_COPY = 1 << 4,  /* the same text was there often enough */
};

struct thin_unit {
        uint32_t from;
        uint32_t semicolon; /* JavaScript: behind that, or the bracket, that ends it; 0: a line's end does */
        uint32_t word;      /* one of its own, from 1; 0: it has none */
        uint32_t model;     /* the first with its skeleton */
        uint32_t flags;
};

#define THIN_LEVELS_MAX 64
#define THIN_KINDS_MAX 8

/* A pair of brackets that is open, and the element in it that is being read. */
struct thin_level {
        uint64_t all, skeleton;         /* of the elements before it; its own */
        uint64_t kinds[THIN_KINDS_MAX]; /* skeletons that were there */
        uint32_t n_kinds, from, n;      /* where it begins; how many were before it */
        uint32_t sums, members;         /* operators, and members of members, in a row */
        bool data;                      /* constants only */
        bool keep;
        bool block;    /* what is in it ends with semicolons, too */
        bool sequence; /* a, b in JavaScript is b: the number of elements counts */
        char end;      /* of the element before */
};

struct thin_reader {
        const struct thin_language *language;
        const char *text;
        size_t len, at;
        struct thin_word *words;
        uint32_t n_words, words_size, *index, index_size;
        struct thin_unit unit; /* the current one */
        uint32_t n_units;      /* before it */
        uint64_t skeleton;
        struct thin_level levels[THIN_LEVELS_MAX];
        unsigned depth;
        struct thin_hole *holes;
        size_t n_holes, holes_size;
        bool stop;     /* nothing is to be left out */
        bool made_up;  /* names may be made from texts: nothing but copies and data */
        bool too_deep; /* an expression that is not looked at, since it is too long */
        bool computed; /* JavaScript: somewhere a member is taken by a name that may be made up */
};

/* Reads one unit; at is at its beginning, and then at that of the next, or at the end. */
void thin_read(struct thin_reader *reader);
/* The beginning of the first unit. */
void thin_skip(struct thin_reader *reader);

static inline struct thin_level *thin_level(struct thin_reader *reader)
{
        return &reader->levels[reader->depth < THIN_LEVELS_MAX ? reader->depth : THIN_LEVELS_MAX - 1];
}

/* A bracket opens, an element ends with a comma, a bracket closes; at is at it. */
void thin_open(struct thin_reader *reader);
void thin_comma(struct thin_reader *reader);
void thin_close(struct thin_reader *reader);
/* Whether there was one like the element that is being read. */
bool thin_was_there(struct thin_level *level);
/* From here to there is nothing that is needed. */
void thin_add_hole(struct thin_reader *reader, size_t from, size_t to, bool data);
/* The same where there are comments and blanks only; those that are short stay. */
void thin_add_gap(struct thin_reader *reader, size_t from, size_t to);

/* A word of the current unit: its class. */
enum thin_class thin_add_word(struct thin_reader *reader, size_t from, size_t len);
/* The last parent of a word. */
struct thin_word *thin_root(struct thin_reader *reader, uint32_t word);
