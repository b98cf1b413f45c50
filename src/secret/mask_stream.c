/* secret/mask_stream.c -- masks a text that arrives in chunks: see mask.h.
 *
 * Theory of operation.  A value can only start at a position whose two bytes can start one of the forms.  A
 * bitmap of all pairs contains these; nearly all text is skipped that way.  At the other positions, the
 * forms that start with the pair are read (form.h), each until it differs or is complete.  All positions
 * are tried, also within values that were found, so that overlapping values are covered completely.
 *
 * For a repetitive value ("aaaa..."), each position could require a long read.  Therefore, a form that has
 * read LONG symbols before it differs continues as in the algorithm of Knuth, Morris and Pratt: positions
 * that cannot succeed are skipped, and at the next possible position, reading continues where it stopped.
 * For this, and to continue after the end of a chunk, each form stores its progress.
 *
 * The place of a byte is its number in the whole stream, so it does not change when buffers move. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

#include "base/err.h"
#include "secret/mask.h"
#include "secret/mask_parts.h"

#define LONG 16
#define STARS "***"
#define STARS_LEN 3

/* How far a form was read: symbols from start up to place.  0 symbols: no progress is stored. */
struct progress {
        uint64_t start, place;
        uint32_t symbols;
};

struct buffer {
        char *data;
        size_t at, fill, size;
};

struct mask_stream {
        struct mask *mask;
        struct progress *progress; /* per form */
        struct buffer held;        /* undecided data */
        struct buffer out;         /* output that is not part of the input */
        uint64_t base;             /* place of the first undecided byte */
        uint64_t covered;          /* bytes before this place are part of a value */
        char last;                 /* the byte before base */
        bool broken;
};

/* ---- buffers ---- */

/* Makes room for this number of bytes.  Does not use realloc(), which would leave a copy behind. */
static int buffer_grow(struct buffer *b, size_t more)
{
        if (b->at == b->fill)
                b->at = b->fill = 0;
        if (b->size - b->fill >= more)
                return 0;
        size_t used = b->fill - b->at, size = b->size ? b->size : 4096;
        if (used + more <= b->size / 2) { /* half is free, so the cost of moving per byte is small */
                memmove(b->data, b->data + b->at, used);
        } else {
                while (size < 2 * (used + more))
                        size *= 2;
                char *data = malloc(size);
                if (!data)
                        return -ENOMEM;
                if (used > 0)
                        memcpy(data, b->data + b->at, used);
                mask_wipe(b->data, b->size);
                b->data = data;
                b->size = size;
        }
        b->at = 0;
        b->fill = used;
        return 0;
}

static int buffer_add(struct buffer *b, const char *data, size_t len)
{
        if (len == 0)
                return 0;
        int r = buffer_grow(b, len);
        if (r < 0)
                return r;
        memcpy(b->data + b->fill, data, len);
        b->fill += len;
        return 0;
}

static void buffer_done(struct buffer *b)
{
        mask_wipe(b->data, b->size);
        *b = (struct buffer){0};
}

/* ---- reading ---- */

/* The available text. */
struct view {
        const char *text;
        size_t len;
        bool all;         /* no data follows it */
        const char *from; /* output: these bytes, or those in the stream's buffer */
        size_t n;
        bool copied;
};

/* Adds to the output.  Copies nothing as long as the output is one piece of the text. */
static void pass(struct mask_stream *s, struct view *v, const char *data, size_t len)
{
        if (len == 0 || s->broken)
                return;
        if (v->n == 0)
                v->from = data;
        if (!v->copied && v->from + v->n == data) {
                v->n += len;
                return;
        }
        if (!v->copied && v->n > 0) {
                /* The output is never longer than the text, so the buffer does not move. */
                v->copied = true;
                s->out.at = s->out.fill = 0;
                s->broken = buffer_grow(&s->out, v->len + STARS_LEN) < 0 ||
                            buffer_add(&s->out, v->from, v->n) < 0;
        }
        if (v->copied && !s->broken) {
                s->broken = buffer_add(&s->out, data, len) < 0;
                v->from = s->out.data;
        }
        v->n += len;
}

/* Adds a part of the text, without the covered bytes. */
static void pass_text(struct mask_stream *s, struct view *v, size_t from, size_t to)
{
        uint64_t covered = s->covered > s->base ? s->covered - s->base : 0;
        if (covered > from)
                from = covered < to ? (size_t)covered : to;
        pass(s, v, v->text + from, to - from);
}

static void mask_stream_cover(struct mask_stream *s, struct view *v, size_t from, size_t to)
{
        if (s->base + from >= s->covered)
                pass(s, v, STARS, STARS_LEN);
        if (s->base + to > s->covered)
                s->covered = s->base + to;
}

static char byte_before(const struct mask_stream *s, const struct view *v, size_t at)
{
        if (at > 0)
                return v->text[at - 1];
        return s->last;
}

/* Returns the next position at which a value may start; includes the last byte if it may be a first byte. */
static size_t next_position(const struct mask_stream *s, const struct view *v, size_t at)
{
        const uint8_t *pairs = s->mask->pairs;
        const unsigned char *t = (const unsigned char *)v->text;
        for (; at + 1 < v->len; at++) {
                unsigned pair = t[at] | (unsigned)t[at + 1] << 8;
                if (pairs[pair >> 3] >> (pair & 7) & 1)
                        return at;
        }
        if (at < v->len) {
                bool line = byte_before(s, v, at) == '\n';
                unsigned first = s->mask->first[t[at]];
                if (!v->all && ((first & BEGINS) || ((first & BEGINS_LINE) && line)))
                        return at;
                at++;
        }
        return at;
}

/* After a mismatch or the end: sets where this form may start next, if enough of it is known. */
static void fall_back(struct mask_stream *s, const struct view *v, size_t number, struct progress *p)
{
        const struct form *form = &s->mask->forms[number];
        const uint32_t *border = p->symbols >= LONG ? mask_borders(s->mask, number) : NULL;
        uint32_t shorter = border ? border[p->symbols] : 0, left = p->symbols - shorter, i = 0, symbols;
        p->symbols = 0;
        if (shorter < LONG)
                return; /* reading them again is cheap and needs no state */
        for (; i < left; i += symbols) {
                size_t at = (size_t)(p->start - s->base);
                int n = form_read(form, i, v->text + at, v->len - at, &symbols);
                if (n <= 0)
                        return;
                p->start += (uint64_t)n;
        }
        if (i == left)
                p->symbols = shorter;
}

/* Reads a form that starts here.  Returns the position after it, 0 if it does not match, or FORM_MORE. */
static ssize_t read_form(struct mask_stream *s, const struct view *v, size_t number, size_t at)
{
        const struct form *form = &s->mask->forms[number];
        struct progress *p = &s->progress[number];
        uint64_t here = s->base + at;
        uint32_t symbols;
        if (p->symbols > 0 && p->start > here)
                return 0; /* known not to match */
        if (p->symbols == 0 || p->start < here)
                *p = (struct progress){.start = here, .place = here};
        while (p->symbols < form->n) {
                size_t to = (size_t)(p->place - s->base);
                int n = to == v->len ? FORM_MORE
                                     : form_read(form, p->symbols, v->text + to, v->len - to, &symbols);
                if (n == FORM_MORE && !v->all)
                        return FORM_MORE;
                if (n <= 0) {
                        fall_back(s, v, number, p);
                        return 0;
                }
                p->place += (uint64_t)n;
                p->symbols += symbols;
        }
        size_t end = (size_t)(p->place - s->base);
        int tail = form_tail(form, v->text + end, v->len - end, v->all);
        if (tail == FORM_MORE)
                return FORM_MORE;
        fall_back(s, v, number, p);
        return (ssize_t)end + tail;
}

/* Tries the forms that start with the pair at this position.  Returns false if it depends on further data. */
static bool try_position(struct mask_stream *s, struct view *v, size_t at)
{
        const struct mask *mask = s->mask;
        uint16_t pair = mask_pair(v->text + at);
        bool line = byte_before(s, v, at) == '\n';
        size_t low = 0, high = mask->n_beginnings, end = 0;
        bool decided = true;
        while (low < high) {
                size_t middle = low + (high - low) / 2;
                if (mask->beginnings[middle].pair < pair)
                        low = middle + 1;
                else
                        high = middle;
        }
        for (; low < mask->n_beginnings && mask->beginnings[low].pair == pair; low++) {
                size_t number = mask->beginnings[low].form;
                if (mask->forms[number].line_start && !line)
                        continue;
                ssize_t r = read_form(s, v, number, at);
                if (r == FORM_MORE)
                        decided = false;
                else if ((size_t)r > end)
                        end = (size_t)r;
        }
        if (end > 0)
                mask_stream_cover(s, v, at, end);
        return decided;
}

/* Processes the text and returns the length of the decided part. */
static size_t go_through(struct mask_stream *s, struct view *v)
{
        size_t at = 0;
        while (at < v->len) {
                size_t next = next_position(s, v, at);
                pass_text(s, v, at, next);
                at = next;
                if (at + 1 >= v->len || !try_position(s, v, at))
                        break;
                pass_text(s, v, at, at + 1);
                at++;
        }
        return at;
}

/* ---- streams ---- */

int mask_stream_new(struct mask *mask, struct mask_stream **ret, struct cella_err *err)
{
        if (!mask) {
                *ret = NULL;
                return 0;
        }
        struct mask_stream *s = calloc(1, sizeof *s);
        if (s)
                s->progress = calloc(mask->n_forms, sizeof *s->progress);
        if (!s || !s->progress) {
                free(s);
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot prepare to mask secrets");
        }
        s->mask = mask;
        *ret = s;
        return 0;
}

struct mask_stream *mask_stream_free(struct mask_stream *s)
{
        if (!s)
                return NULL;
        buffer_done(&s->held);
        buffer_done(&s->out);
        free(s->progress);
        free(s);
        return NULL;
}

static size_t mask_stream_feed(struct mask_stream *s, const char **data, size_t len, bool all)
{
        bool held = s->held.fill > s->held.at;
        struct view v = {.text = *data, .len = len, .all = all, .from = *data};
        if (!s->broken && held) {
                s->broken = buffer_add(&s->held, *data, len) < 0;
                v.text = s->held.data + s->held.at;
                v.len = s->held.fill - s->held.at;
        }
        if (s->broken)
                return 0;
        size_t decided = go_through(s, &v);
        if (held)
                s->held.at += decided; /* not moved: the output may be part of it */
        else if (buffer_add(&s->held, v.text + decided, v.len - decided) < 0)
                s->broken = true;
        if (s->broken)
                return 0;
        if (decided > 0)
                s->last = v.text[decided - 1];
        s->base += decided;
        *data = v.from;
        return v.n;
}

size_t mask_feed(struct mask_stream *s, const char **data, size_t len)
{
        return s && len > 0 ? mask_stream_feed(s, data, len, false) : len;
}

size_t mask_flush(struct mask_stream *s, const char **ret)
{
        *ret = "";
        return s ? mask_stream_feed(s, ret, 0, true) : 0;
}

size_t mask_text(struct mask *mask, char *text, size_t len)
{
        AUTO(mask_stream_free) struct mask_stream *s = NULL;
        const char *data = text;
        if (!mask || len == 0)
                return len;
        size_t n = 0;
        mask_stream_new(mask, &s, NULL);
        if (s)
                n = mask_stream_feed(s, &data, len, true);
        if (!s || s->broken) {
                n = len < STARS_LEN ? len : STARS_LEN;
                data = STARS;
        }
        if (n > 0 && data != text)
                memmove(text, data, n);
        return n;
}

void mask_string(struct mask *mask, char *text)
{
        if (mask)
                text[mask_text(mask, text, strlen(text))] = '\0';
}
