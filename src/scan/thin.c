#include "scan/thin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scan/thin_units.h"

#define SAMPLE 256     /* units, after which it is seen whether it is worth while */
#define COPIES_MAX 512 /* of a text: no more findings are kept, and by then all are alike */

size_t thin_from = 32u << 10;

/* ---- words that belong together ---- */

struct thin_word *thin_root(struct thin_reader *r, uint32_t word)
{
        uint32_t at = word - 1;
        while (r->words[at].parent != at) {
                r->words[at].parent = r->words[r->words[at].parent].parent;
                at = r->words[at].parent;
        }
        return &r->words[at];
}

static void join(struct thin_reader *r, uint32_t a, uint32_t b)
{
        struct thin_word *x = thin_root(r, a), *y = thin_root(r, b);
        if (x == y)
                return;
        /* The older one stays on top: the paths are short enough. */
        if (x > y) {
                struct thin_word *other = x;
                x = y;
                y = other;
        }
        y->parent = (uint32_t)(x - r->words);
        x->known |= y->known;
}

static uint32_t hash(const char *text, size_t len)
{
        uint32_t h = 2166136261u;
        for (size_t i = 0; i < len; i++)
                h = (h ^ (unsigned char)text[i]) * 16777619u;
        return h ^ h >> 15;
}

static bool grow_words(struct thin_reader *r)
{
        if (r->n_words < r->words_size)
                return true;
        uint32_t size = r->words_size > 0 ? r->words_size * 2 : 1024;
        struct thin_word *words = size <= THIN_WORDS_MAX ? realloc(r->words, size * sizeof *words) : NULL;
        if (words)
                r->words = words;
        uint32_t *index = words ? calloc(size * 2, sizeof *index) : NULL;
        if (!index)
                return false;
        free(r->index);
        r->words_size = size;
        r->index = index;
        r->index_size = size * 2;
        for (uint32_t i = 0; i < r->n_words; i++) {
                uint32_t at = words[i].hash & (r->index_size - 1);
                while (index[at])
                        at = (at + 1) & (r->index_size - 1);
                index[at] = i + 1;
        }
        return true;
}

/* Its number from 1; 0: there is no room. */
static uint32_t find_word(struct thin_reader *r, size_t from, size_t len)
{
        const char *text = r->text + from;
        uint32_t h = hash(text, len);
        if (!grow_words(r))
                return 0;
        uint32_t mask = r->index_size - 1, at = h & mask;
        for (unsigned n = 0; r->index[at]; at = (at + 1) & mask) {
                const struct thin_word *word = &r->words[r->index[at] - 1];
                if (word->hash == h && word->len == len && !memcmp(r->text + word->from, text, len))
                        return r->index[at];
                if (++n > THIN_PROBES_MAX)
                        return 0;
        }
        enum thin_class class = r->language->classify(text, len);
        r->words[r->n_words] = (struct thin_word){.from = (uint32_t)from,
                                                  .len = (uint32_t)len,
                                                  .hash = h,
                                                  .parent = r->n_words,
                                                  .class = (uint8_t) class,
                                                  .known = class == THIN_KNOWN};
        r->index[at] = ++r->n_words;
        return r->n_words;
}

enum thin_class thin_add_word(struct thin_reader *r, size_t from, size_t len)
{
        uint32_t word = find_word(r, from, len);
        if (!word) {
                r->stop = true;
                return THIN_STOP;
        }
        enum thin_class class = (enum thin_class)r->words[word - 1].class;
        r->made_up |= class == THIN_STOP;
        if (class == THIN_KNOWN)
                r->unit.flags |= THIN_UNIT_KNOWN;
        if (class == THIN_FIXED)
                return class;
        if (r->unit.word)
                join(r, r->unit.word, word);
        else
                r->unit.word = word;
        return class;
}

/* ---- skeletons ---- */

struct skeletons {
        struct skeleton {
                uint64_t hash;
                uint32_t unit; /* from 1 */
                uint32_t n;
        } * places;
        size_t n, size;
};

static bool grow_skeletons(struct skeletons *s)
{
        if (s->n * 2 < s->size)
                return true;
        struct skeletons larger = {.size = s->size > 0 ? s->size * 2 : 1024, .n = s->n};
        larger.places = calloc(larger.size, sizeof *larger.places);
        if (!larger.places)
                return false;
        for (size_t i = 0; i < s->size; i++) {
                size_t at = s->places[i].hash & (larger.size - 1);
                while (larger.places[at].unit)
                        at = (at + 1) & (larger.size - 1);
                if (s->places[i].unit)
                        larger.places[at] = s->places[i];
        }
        free(s->places);
        *s = larger;
        return true;
}

/* The first unit of this skeleton, which may be this one.  NULL: it is too hard to find. */
static struct skeleton *find_first(struct skeletons *s, uint64_t skeleton, uint32_t unit)
{
        size_t at = skeleton & (s->size - 1);
        for (unsigned n = 0; s->places[at].unit && s->places[at].hash != skeleton; n++) {
                if (n == THIN_PROBES_MAX)
                        return NULL;
                at = (at + 1) & (s->size - 1);
        }
        if (!s->places[at].unit) {
                s->places[at] = (struct skeleton){.hash = skeleton, .unit = unit + 1};
                s->n++;
        }
        s->places[at].n++;
        return &s->places[at];
}

/* ---- units ---- */

struct units {
        struct thin_unit *list;
        uint32_t n, size;
};

static bool grow_units(struct units *units)
{
        if (units->n < units->size)
                return true;
        uint32_t size = units->size > 0 ? units->size * 2 : 4096;
        struct thin_unit *list = size <= THIN_UNITS_MAX ? realloc(units->list, size * sizeof *list) : NULL;
        if (!list)
                return false;
        units->list = list;
        units->size = size;
        return true;
}

/* Of texts that are the same, byte by byte, each says the same: the later ones at most what the first said,
 * since where a name stands matters in one way only: behind its binding it is nothing else.  (But that code
 * in code is looked at a hundred times only; so there are more of them than findings.) */
static void look_for_copies(struct thin_reader *r, struct skeletons *texts, const struct units *units)
{
        const char *text = r->text + r->unit.from;
        size_t len = r->at - r->unit.from;
        const struct skeleton *first = find_first(texts, hash(text, len), units->n);
        if (!first || first->n <= COPIES_MAX)
                return;
        uint32_t other = first->unit - 1;
        size_t from = units->list[other].from,
               to = other + 1 < units->n ? units->list[other + 1].from : r->unit.from;
        if (to - from != len || memcmp(r->text + from, text, len) != 0)
                return;
        r->unit.flags |= THIN_UNIT_COPY;
        r->unit.model = other;
}

static void end_unit(struct thin_reader *r, struct skeletons *skeletons, struct skeletons *texts,
                     struct units *units)
{
        const struct skeleton *first = find_first(skeletons, r->skeleton ^ r->skeleton >> 29, units->n);
        r->unit.model = first ? first->unit - 1 : units->n;
        if (r->unit.model == units->n)
                r->unit.flags |= THIN_UNIT_FIRST;
        else
                look_for_copies(r, texts, units);
        if (r->unit.flags & THIN_UNIT_KNOWN && r->unit.word)
                thin_root(r, r->unit.word)->known = true;
        units->list[units->n++] = r->unit;
}

/* False: nothing is to be left out. */
static bool read_all(struct thin_reader *r, struct units *units)
{
        struct skeletons skeletons = {0}, texts = {0};
        thin_skip(r);
        while (r->at < r->len && !r->stop && !r->too_deep) {
                if (!grow_skeletons(&skeletons) || !grow_skeletons(&texts) || !grow_units(units) ||
                    (units->n % SAMPLE == SAMPLE - 1 && skeletons.n > units->n / 2)) {
                        r->stop = true;
                        break;
                }
                r->unit = (struct thin_unit){.from = (uint32_t)r->at};
                r->n_units = units->n;
                r->skeleton = 14695981039346656037u;
                thin_read(r);
                end_unit(r, &skeletons, &texts, units);
        }
        free(skeletons.places);
        free(texts.places);
        return !r->stop;
}

/* It, or what it binds, may be of interest. */
static bool matters(struct thin_reader *r, const struct thin_unit *unit)
{
        return r->made_up || unit->flags & THIN_UNIT_KNOWN || (unit->word && thin_root(r, unit->word)->known);
}

static bool may_go(struct thin_reader *r, const struct thin_unit *unit)
{
        return unit->flags & THIN_UNIT_COPY || (!(unit->flags & THIN_UNIT_FIRST) && !matters(r, unit));
}

/* How many bytes can be left out. */
static size_t choose(struct thin_reader *r, struct units *units)
{
        size_t gain = 0;
        for (uint32_t i = 0; i < units->n && r->computed; i++) {
                const struct thin_unit *unit = &units->list[i];
                if (unit->flags & THIN_UNIT_TEXT && unit->word)
                        thin_root(r, unit->word)->known = true;
                if (unit->flags & THIN_UNIT_TEXT)
                        units->list[i].flags |= THIN_UNIT_KNOWN;
        }
        for (uint32_t i = 0; i < units->n; i++) {
                const struct thin_unit *unit = &units->list[i];
                if (!may_go(r, unit))
                        continue;
                units->list[unit->model].flags |= THIN_UNIT_MODEL;
                gain += (i + 1 < units->n ? unit[1].from : r->len) - unit->from;
        }
        return gain;
}

/* Those holes that are not in a unit that goes, or that matters. */
static size_t choose_holes(struct thin_reader *r, const struct units *units)
{
        size_t n = 0, gain = 0;
        for (size_t i = 0; i < r->n_holes; i++) {
                const struct thin_hole *hole = &r->holes[i];
                const struct thin_unit *unit = hole->unit < units->n ? &units->list[hole->unit] : NULL;
                if (unit && (may_go(r, unit) || (!hole->data && matters(r, unit))))
                        continue;
                gain += hole->to - hole->from;
                r->holes[n++] = *hole;
        }
        r->n_holes = n;
        return gain;
}

static void blank(char *text, size_t from, size_t to)
{
        for (size_t i = from; i < to; i++)
                if (text[i] != '\n' && text[i] != '\r')
                        text[i] = ' ';
}

static void leave_out_units(struct thin_reader *r, const struct units *units, struct thin *ret)
{
        const struct thin_unit *gone = NULL; /* the one before */
        bool begins = false;                 /* where the one before has to have ended */
        for (uint32_t i = 0; i < units->n; i++) {
                const struct thin_unit *unit = &units->list[i];
                bool goes = may_go(r, unit);
                bool model = unit->flags & THIN_UNIT_MODEL && !goes;
                if (model || (goes ? !gone : begins))
                        ret->marks[ret->n_marks++] = unit->from;
                begins = model || goes;
                if (goes) {
                        blank(ret->text, unit->from, i + 1 < units->n ? unit[1].from : r->len);
                        if (!gone)
                                ret->text[unit->from] = r->language->filler;
                } else if (gone && gone->semicolon) {
                        ret->text[gone->semicolon - 1] = ';';
                }
                gone = goes ? unit : NULL;
        }
}

static int leave_out(struct thin_reader *r, const struct units *units, struct thin *ret)
{
        ret->text = malloc(r->len);
        ret->marks = malloc((units->n + 1) * sizeof *ret->marks);
        if (!ret->text || !ret->marks)
                return -ENOMEM;
        memcpy(ret->text, r->text, r->len);
        leave_out_units(r, units, ret);
        for (size_t i = 0; i < r->n_holes; i++)
                blank(ret->text, r->holes[i].from, r->holes[i].to);
        ret->holes = r->holes;
        ret->n_holes = r->n_holes;
        r->holes = NULL;
        return 0;
}

int thin_init(struct thin *ret, const struct thin_language *language, const char *text, size_t len)
{
        struct thin_reader reader = {.language = language, .text = text, .len = len};
        struct units units = {0};
        int r = 0;
        *ret = (struct thin){.left = len};
        if (len < thin_from || len > UINT32_MAX)
                return 0;
        size_t gain = read_all(&reader, &units) ? choose(&reader, &units) + choose_holes(&reader, &units) : 0;
        if (gain > len / 8) {
                ret->left = gain < len ? len - gain : 0;
                r = leave_out(&reader, &units, ret);
        }
        if (reader.too_deep)
                r = -E2BIG;
        free(reader.holes);
        free(reader.words);
        free(reader.index);
        free(units.list);
        return r;
}

void thin_done(struct thin *thin)
{
        free(thin->text);
        free(thin->marks);
        free(thin->holes);
}
