#include "box/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "box/pool.h"

#define GIVE_WAY_US 2000000 /* for a sandbox that waits in a pool to end, on however busy a machine */

/* Those of one key that wait. */
struct queue_key {
        struct list link; /* in the box */
        char key[ID_SIZE];
        struct list waiters;
        unsigned n;
};

static bool key_has_room(const struct box_sandbox *sb)
{
        return sb->key_sandboxes_max == 0 || sandbox_alive_of_key(sb->box, sb->key) < sb->key_sandboxes_max;
}

static bool has_room(const struct box_sandbox *sb)
{
        return sb->box->alive < sb->box->settings.sandboxes_max && key_has_room(sb);
}

unsigned queue_wants(const struct box *box)
{
        unsigned n = 0;
        list_each (at, &box->queue, other) {
                const struct queue_key *q = list_entry(at, struct queue_key, link);
                const struct box_sandbox *sb = list_entry(q->waiters.next, struct box_sandbox, waiters);
                unsigned max = sb->key_sandboxes_max, alive = max ? sandbox_alive_of_key(box, q->key) : 0;
                unsigned room = max == 0 ? q->n : alive < max ? max - alive : 0;
                n += q->n < room ? q->n : room;
        }
        return n;
}

static struct queue_key *find_key(struct box *box, const char *key)
{
        list_each (at, &box->queue, other) {
                struct queue_key *q = list_entry(at, struct queue_key, link);
                if (!strcmp(q->key, key))
                        return q;
        }
        struct queue_key *q = calloc(1, sizeof *q);
        if (!q)
                return NULL;
        memcpy(q->key, key, strnlen(key, sizeof q->key - 1));
        list_init(&q->waiters);
        list_add(&box->queue, &q->link);
        return q;
}

unsigned queue_retry_after_s(const struct box *box)
{
        /* Nobody knows when somebody else's code ends; this spreads those who ask again. */
        unsigned s = 1 + box->waiting / 64;
        return s < 30 ? s : 30;
}

static void refuse(struct box_sandbox *sb, const char *why)
{
        struct cella_err err = {0};
        sb->box->metrics.refused_capacity++;
        err_say(&err, CELLA_OVER_CAPACITY, -EAGAIN, "no room for another sandbox: %s", why);
        err_hint(&err,
                 "try again in %u s; sandboxes.max, queue_timeout_ms and the key's sandboxes_max decide",
                 queue_retry_after_s(sb->box));
        sandbox_refused(sb, &err);
}

static void grant(struct box_sandbox *sb)
{
        sb->box->alive++;
        sandbox_granted(sb);
}

static void take_out(struct box_sandbox *sb)
{
        struct list *neighbour = sb->waiters.next;
        list_remove(&sb->waiters);
        sb->box->waiting--;
        list_each (at, &sb->box->queue, other) {
                struct queue_key *q = list_entry(at, struct queue_key, link);
                q->n -= !strcmp(q->key, sb->key);
        }
        if (!list_empty(neighbour)) /* it was not the last of its key */
                return;
        struct queue_key *q = list_entry(neighbour, struct queue_key, waiters);
        list_remove(&q->link);
        free(q);
}

/* The queue is full: the last of the key with the most in it gives way, if that is fairer. */
static bool make_place(struct box *box, const char *key)
{
        struct queue_key *longest = NULL;
        unsigned own = 0;
        list_each (at, &box->queue, other) {
                struct queue_key *q = list_entry(at, struct queue_key, link);
                if (!strcmp(q->key, key))
                        own = q->n;
                if (!longest || q->n > longest->n)
                        longest = q;
        }
        if (!longest || longest->n <= own + 1)
                return false;
        struct box_sandbox *last = list_entry(longest->waiters.previous, struct box_sandbox, waiters);
        take_out(last);
        refuse(last, "too many of this key wait already");
        return true;
}

void queue_enter(struct box_sandbox *sb)
{
        struct box *box = sb->box;
        if (has_room(sb)) { /* those in the queue wait for their own keys' room: see queue_pump() */
                grant(sb);
                return;
        }
        const bool gave = key_has_room(sb) && pools_give_way(box, queue_wants(box) + 1);
        if (!gave && box->waiting >= box->settings.queue_max && !make_place(box, sb->key)) {
                refuse(sb, "too many wait already");
                return;
        }
        struct queue_key *q = find_key(box, sb->key);
        if (!q) {
                refuse(sb, "out of memory");
                return;
        }
        /* Who waits only until one that we had in stock has ended is not to be refused for it. */
        sb->queued_us = clock_us() + (gave ? GIVE_WAY_US : 0);
        list_add(&q->waiters, &sb->waiters);
        q->n++;
        box->waiting++;
}

void queue_leave(struct box_sandbox *sb)
{
        if (!list_empty(&sb->waiters))
                take_out(sb);
}

/* The keys in turn: whoever was granted goes to the end of the line. */
void queue_pump(struct box *box)
{
        bool granted = true;
        while (granted) {
                granted = false;
                list_each (at, &box->queue, other) {
                        struct queue_key *q = list_entry(at, struct queue_key, link);
                        struct box_sandbox *sb = list_entry(q->waiters.next, struct box_sandbox, waiters);
                        if (box->alive >= box->settings.sandboxes_max)
                                return;
                        if (!has_room(sb))
                                continue;
                        list_remove(&q->link);
                        list_add(&box->queue, &q->link);
                        take_out(sb);
                        grant(sb);
                        granted = true;
                        break;
                }
        }
}

void queue_release(struct box *box)
{
        box->alive--;
        queue_pump(box);
}

void queue_expire(struct box *box)
{
        int64_t oldest = clock_us() - (int64_t)box->settings.queue_timeout_ms * 1000;
        bool found = true;
        while (found) {
                found = false;
                list_each (at, &box->queue, other) {
                        struct queue_key *q = list_entry(at, struct queue_key, link);
                        struct box_sandbox *sb = list_entry(q->waiters.next, struct box_sandbox, waiters);
                        if (sb->queued_us > oldest)
                                continue;
                        take_out(sb);
                        refuse(sb, "waited for as long as is allowed");
                        found = true;
                        break;
                }
        }
}
