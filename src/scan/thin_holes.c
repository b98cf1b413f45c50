/* scan/thin_holes.c -- lists with thousands of elements, of which the first ones are enough.
 *
 * Whoever works a list out looks at the first few elements (at most 128).  Behind those, an element that is
 * made as one before it was can go, if it is a constant, or if nothing in its unit matters. */
#include <stdlib.h>

#include "scan/thin_units.h"

#define ELEMENTS_KEPT 140
#define GAP_MIN 256 /* bytes of comments */
#define HOLES_MAX (1u << 18)

static uint64_t mix(uint64_t all, uint64_t more)
{
        return (all ^ more) * 1099511628211u;
}

static void begin_element(struct thin_level *level, size_t from)
{
        level->skeleton = 0;
        level->from = (uint32_t)from;
        level->sums = level->members = 0;
        level->data = true;
        level->keep = false;
}

void thin_open(struct thin_reader *r)
{
        if (++r->depth >= THIN_LEVELS_MAX) {
                thin_level(r)->keep = true;
                return;
        }
        struct thin_level *level = thin_level(r);
        level->all = 0;
        level->n = level->n_kinds = 0;
        level->block = level->sequence = false;
        begin_element(level, r->at + 1);
}

/* What is inside is a part of the element outside. */
void thin_close(struct thin_reader *r)
{
        if (r->depth == 0 || r->depth-- >= THIN_LEVELS_MAX)
                return;
        const struct thin_level *inner = &r->levels[r->depth + 1];
        struct thin_level *outer = &r->levels[r->depth];
        outer->skeleton = mix(mix(outer->skeleton, inner->all), inner->skeleton);
        outer->data &= inner->data;
        /* Holes are not to overlap. */
        outer->keep |= inner->keep || inner->n > ELEMENTS_KEPT;
}

bool thin_was_there(struct thin_level *level)
{
        for (uint32_t i = 0; i < level->n_kinds; i++)
                if (level->kinds[i] == level->skeleton)
                        return true;
        if (level->n_kinds < THIN_KINDS_MAX)
                level->kinds[level->n_kinds++] = level->skeleton;
        return false;
}

void thin_add_hole(struct thin_reader *r, size_t from, size_t to, bool data)
{
        struct thin_hole *last = r->holes && r->n_holes > 0 ? &r->holes[r->n_holes - 1] : NULL;
        const struct thin_hole hole = {(uint32_t)from, (uint32_t)to, r->n_units, data};
        if (last && last->to > hole.from)
                return; /* in their order, and none in another */
        if (last && last->to == hole.from && last->data == hole.data && last->unit == hole.unit) {
                last->to = hole.to;
                return;
        }
        if (!r->holes || r->n_holes == r->holes_size) {
                size_t size = r->holes_size > 0 ? r->holes_size * 2 : 64;
                struct thin_hole *holes = size <= HOLES_MAX ? realloc(r->holes, size * sizeof *holes) : NULL;
                if (!holes)
                        return; /* it stays */
                r->holes = holes;
                r->holes_size = size;
        }
        r->holes[r->n_holes++] = hole;
}

void thin_add_gap(struct thin_reader *r, size_t from, size_t to)
{
        if (to - from >= GAP_MIN)
                thin_add_hole(r, from, to, true);
}

void thin_comma(struct thin_reader *r)
{
        struct thin_level *level = thin_level(r);
        size_t next = r->at + 1;
        const char end = r->text[r->at];
        if (r->depth == 0 || r->depth >= THIN_LEVELS_MAX)
                return;
        level->skeleton = mix(level->skeleton, (unsigned char)end);
        bool again = thin_was_there(level);
        if (again && !level->keep && level->n >= ELEMENTS_KEPT && level->end == end && !level->sequence)
                thin_add_hole(r, level->from, next, level->data);
        level->all = mix(level->all, level->skeleton);
        level->n++;
        level->end = end;
        begin_element(level, next);
}
