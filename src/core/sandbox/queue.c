#include "core/sandbox/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"

#define GIVE_WAY_US 2000000 /* for a reclaimed sandbox to end, even on a busy machine */
#define SHARE 4             /* a caller may hold this many times the places that are left for others */
#define RESERVE_PART 5      /* at most one in so many places is reserved for callers without a sandbox */

/* One caller (a key, or "" for the owner) that holds or waits for sandboxes. */
struct queue_key {
        struct list link; /* in core->queue */
        char key[ID_SIZE];
        struct list waiters;
        unsigned n;      /* number of waiters */
        unsigned alive;  /* sandboxes that it holds, without pooled ones */
        unsigned steady; /* of these, those that are not being ended; set by count_steady() */
};

/* ---- shares ---- */

static const struct queue_key *find_holder(const struct core *core, const char *key)
{
        list_each (at, &core->queue, other) {
                const struct queue_key *q = list_entry(at, struct queue_key, link);
                if (!strcmp(q->key, key))
                        return q;
        }
        return NULL;
}

/* Counts the places that no caller holds (pooled sandboxes count as free, because they can be ended), and how
 * many of them are reserved: one for each other caller without a sandbox. */
static void count_room(const struct core *core, const char *key, int *ret_free, int *ret_reserved)
{
        const int max = (int)core->settings.sandboxes_max;
        int held = 0, holders = 0;
        list_each (at, &core->queue, other) {
                const struct queue_key *q = list_entry(at, struct queue_key, link);
                held += (int)q->alive;
                holders += q->alive > 0 && strcmp(q->key, key) != 0;
        }
        /* All keys and the owner, without this caller. */
        const int others = (int)state_key_count(core->state) - holders;
        const int most = (max + RESERVE_PART - 1) / RESERVE_PART;
        *ret_free = max - held;
        *ret_reserved = others < 0 ? 0 : others < most ? others : most;
}

/* Returns how many of `wanted` more sandboxes a caller that holds `alive` may have.  Without keys the owner
 * is the only caller and has no share. */
static unsigned share_allows(const struct core *core, const char *key, unsigned alive, unsigned key_max,
                             unsigned wanted)
{
        const bool alone = state_key_count(core->state) == 0;
        unsigned n = 0;
        int free_room = 0, reserved = 0;
        if (!alone)
                count_room(core, key, &free_room, &reserved);
        for (; n < wanted; n++, alive++) {
                if (key_max && alive >= key_max)
                        break;
                if (!alone && alive > 0 && (int)alive >= SHARE * (free_room - (int)n - reserved))
                        break;
        }
        return n;
}

bool queue_key_has_room(const struct core *core, const char *key, uint32_t key_max)
{
        if (key_max == 0 && state_key_count(core->state) == 0)
                return true;
        const struct queue_key *q = find_holder(core, key);
        return share_allows(core, key, q ? q->alive : 0, key_max, 1) == 1;
}

static bool key_has_room(const struct place *p)
{
        return p->ahead || queue_key_has_room(p->core, p->key, p->key_max);
}

static bool sandbox_queue_has_room(const struct place *p)
{
        return p->core->alive < p->core->settings.sandboxes_max && key_has_room(p);
}

static struct place *first_waiter(const struct queue_key *q)
{
        return q->n == 0 ? NULL : list_entry(q->waiters.next, struct place, link);
}

unsigned queue_wants(const struct core *core)
{
        unsigned n = 0;
        list_each (at, &core->queue, other) {
                const struct queue_key *q = list_entry(at, struct queue_key, link);
                const struct place *p = first_waiter(q);
                if (p)
                        n += share_allows(core, q->key, q->alive, p->key_max, q->n);
        }
        return n;
}

unsigned queue_waiting_of(const struct core *core, const char *key)
{
        const struct queue_key *q = find_holder(core, key);
        return q ? q->n : 0;
}

static struct queue_key *find_key(struct core *core, const char *key)
{
        struct queue_key *q = (struct queue_key *)find_holder(core, key);
        if (q || !(q = calloc(1, sizeof *q)))
                return q;
        memcpy(q->key, key, strnlen(key, sizeof q->key - 1));
        list_init(&q->waiters);
        list_add(&core->queue, &q->link);
        return q;
}

static void drop_unused(struct queue_key *q)
{
        if (q->n > 0 || q->alive > 0)
                return;
        list_remove(&q->link);
        free(q);
}

int queue_hold(struct place *p)
{
        struct queue_key *q = find_key(p->core, p->key);
        if (!q)
                return -ENOMEM;
        q->alive++;
        p->holder = q;
        return 0;
}

static void let_go(struct place *p)
{
        struct queue_key *q = p->holder;
        p->holder = NULL;
        if (!q)
                return;
        q->alive--;
        drop_unused(q);
}

void queue_set_aside(struct place *p)
{
        p->ahead = true;
        let_go(p);
}

void queue_take_back(struct place *p, bool alive)
{
        p->ahead = false;
        if (alive)
                queue_hold(p);
}

/* ---- refusing and granting ---- */

unsigned queue_retry_after_s(const struct core *core)
{
        /* It is unknown when a sandbox ends; this spreads the repeated requests. */
        unsigned s = 1 + core->waiting / 64;
        return s < 30 ? s : 30;
}

/* Describes the limit that keeps this sandbox waiting. */
static const char *bound_of(const struct place *p, char *text, size_t size)
{
        const struct queue_key *q = find_holder(p->core, p->key);
        const unsigned alive = q ? q->alive : 0, max = p->core->settings.sandboxes_max;
        if (p->key_max && alive >= p->key_max)
                snprintf(text, size, "this key has %u sandboxes, its sandboxes_max", alive);
        else if (!key_has_room(p))
                snprintf(text, size, "this caller has %u of %u sandboxes, its share", alive, max);
        else
                snprintf(text, size, "all %u sandboxes are in use", max);
        return text;
}

static void sandbox_queue_refuse(struct place *p, const char *why)
{
        struct cella_err err = {0};
        char bound[80];
        p->core->metrics.refused_capacity++;
        err_say(&err, CELLA_OVER_CAPACITY, -EAGAIN, "no room for another sandbox: %s; %s",
                bound_of(p, bound, sizeof bound), why);
        err_hint(&err,
                 "remove sandboxes that are not needed, or try again in %u s; the limits are the settings "
                 "sandboxes.max and sandboxes.queue_timeout_ms, the caller's share and the key's "
                 "sandboxes_max",
                 queue_retry_after_s(p->core));
        p->events->on_refused(p, &err);
}

static void grant(struct place *p)
{
        if (!p->ahead && queue_hold(p) < 0) {
                sandbox_queue_refuse(p, "out of memory");
                return;
        }
        p->core->alive++;
        list_add(&p->core->places, &p->held);
        p->events->on_granted(p);
}

static void take_out(struct place *p)
{
        struct queue_key *q = find_key(p->core, p->key);
        list_remove(&p->link);
        p->core->waiting--;
        q->n--;
        drop_unused(q);
}

/* The queue is full: refuses the last waiter of the key with the most waiters, if that is fairer. */
static bool make_place(struct core *core, const char *key)
{
        struct queue_key *longest = NULL;
        unsigned own = 0;
        list_each (at, &core->queue, other) {
                struct queue_key *q = list_entry(at, struct queue_key, link);
                if (!strcmp(q->key, key))
                        own = q->n;
                if (!longest || q->n > longest->n)
                        longest = q;
        }
        if (!longest || longest->n <= own + 1)
                return false;
        struct place *last = list_entry(longest->waiters.previous, struct place, link);
        take_out(last);
        sandbox_queue_refuse(last, "too many requests of this key are waiting");
        return true;
}

/* ---- reclaiming ---- */

static void count_steady(struct core *core)
{
        list_each (at, &core->queue, other)
                list_entry(at, struct queue_key, link)->steady = 0;
        list_each (at, &core->places, other) {
                const struct place *p = list_entry(at, struct place, held);
                if (p->holder && !p->ending)
                        p->holder->steady++;
        }
}

/* Returns the place of an idle sandbox of the caller that holds the most: the least recently used one.  NULL
 * if no caller with more than `more_than` sandboxes has one. */
static struct place *find_reclaimable(struct core *core, unsigned more_than)
{
        struct place *found = NULL;
        int64_t found_us = 0;
        count_steady(core);
        list_each (at, &core->places, other) {
                struct place *p = list_entry(at, struct place, held);
                int64_t used_us = 0;
                if (!p->holder || p->holder->steady <= more_than || !p->events->is_reclaimable(p, &used_us))
                        continue;
                if (!found || p->holder->steady > found->holder->steady ||
                    (p->holder == found->holder && used_us < found_us)) {
                        found = p;
                        found_us = used_us;
                }
        }
        return found;
}

/* Returns how many sandboxes must end so that `wanted` more fit, in addition to those already ending. */
static unsigned shortage(const struct core *core, unsigned wanted)
{
        const unsigned room = core->settings.sandboxes_max + core->ending;
        return core->alive + wanted > room ? core->alive + wanted - room : 0;
}

/* Ends at most `wanted` idle sandboxes of others for a caller that holds `alive`.  A caller that would be
 * left with fewer than this one loses none. */
static unsigned reclaim(struct core *core, unsigned alive, unsigned wanted)
{
        unsigned n = 0;
        struct place *p;
        for (; n < wanted && (p = find_reclaimable(core, alive + n + 1)); n++)
                p->events->reclaim(p); /* queue_release() gives its place to a waiter */
        return n;
}

/* Makes room for the waiters and for `next` (NULL: none): ends pooled sandboxes first, then idle ones.
 * Returns whether it ended any. */
static bool sandbox_queue_make_room(struct core *core, const struct place *next)
{
        const unsigned wanted = queue_wants(core) + (next ? 1 : 0);
        bool gave = core->hooks->free_pooled(core, wanted);
        unsigned lacking = shortage(core, wanted);
        if (next && !next->ahead && lacking > 0) {
                const struct queue_key *q = find_holder(core, next->key);
                const unsigned n = reclaim(core, q ? q->alive : 0, 1);
                gave |= n > 0;
                lacking -= n;
        }
        list_each (at, &core->queue, other) {
                const struct queue_key *q = list_entry(at, struct queue_key, link);
                const struct place *p = first_waiter(q);
                if (lacking == 0)
                        break;
                if (!p || p->ahead)
                        continue;
                unsigned n = share_allows(core, q->key, q->alive, p->key_max, q->n);
                n = reclaim(core, q->alive, n < lacking ? n : lacking);
                gave |= n > 0;
                lacking -= n;
        }
        return gave;
}

void queue_make_room(struct core *core)
{
        sandbox_queue_make_room(core, NULL);
}

/* ---- entering and leaving ---- */

void sandbox_place_init(struct place *p, struct core *core, const char *key,
                        const struct place_events *events)
{
        *p = (struct place){.core = core, .key = key, .events = events};
        list_init(&p->link);
        list_init(&p->held);
}

void queue_ending(struct place *p)
{
        p->core->ending += !p->ending;
        p->ending = true;
}

void queue_enter(struct place *p)
{
        struct core *core = p->core;
        if (sandbox_queue_has_room(
                    p)) { /* those in the queue wait for their own keys' places: see queue_pump() */
                grant(p);
                return;
        }
        const bool gave = key_has_room(p) && sandbox_queue_make_room(core, p);
        if (!gave && core->waiting >= core->settings.queue_max && !make_place(core, p->key)) {
                sandbox_queue_refuse(p, "too many requests are waiting");
                return;
        }
        struct queue_key *q = find_key(core, p->key);
        if (!q) {
                sandbox_queue_refuse(p, "out of memory");
                return;
        }
        /* A waiter for which a sandbox is being ended is not refused before that has ended. */
        p->queued_us = clock_us() + (gave ? GIVE_WAY_US : 0);
        list_add(&q->waiters, &p->link);
        q->n++;
        core->waiting++;
        core_hurry(core);
}

void queue_leave(struct place *p)
{
        if (!list_empty(&p->link))
                take_out(p);
}

/* Serves the keys in turn: a served key moves to the end of the list. */
void queue_pump(struct core *core)
{
        bool granted = true;
        while (granted) {
                granted = false;
                list_each (at, &core->queue, other) {
                        struct queue_key *q = list_entry(at, struct queue_key, link);
                        if (core->alive >= core->settings.sandboxes_max)
                                return;
                        struct place *p = first_waiter(q);
                        if (!p || !sandbox_queue_has_room(p))
                                continue;
                        list_remove(&q->link);
                        list_add(&core->queue, &q->link);
                        take_out(p);
                        grant(p);
                        granted = true;
                        break;
                }
        }
}

void queue_release(struct place *p)
{
        list_remove(&p->held);
        p->core->ending -= p->ending;
        p->ending = false;
        p->core->alive--;
        let_go(p);
        queue_pump(p->core);
}

void queue_expire(struct core *core)
{
        int64_t oldest = clock_us() - (int64_t)core->settings.queue_timeout_ms * 1000;
        bool found = true;
        while (found) {
                found = false;
                list_each (at, &core->queue, other) {
                        struct queue_key *q = list_entry(at, struct queue_key, link);
                        struct place *p = first_waiter(q);
                        if (!p || p->queued_us > oldest)
                                continue;
                        take_out(p);
                        sandbox_queue_refuse(
                                p, "the request waited as long as sandboxes.queue_timeout_ms allows");
                        found = true;
                        break;
                }
        }
}
