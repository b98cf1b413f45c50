/* egress/loop.c -- see loop.h.
 *
 * Timers are in a timer wheel with one slot per tick; a timer of a later revolution stays in its slot until
 * it is due.  Most timers are moved or stopped long before they fire, which only changes a few pointers. */
#include "egress/loop.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "sys/file.h"
#include "sys/socket.h"

#define EVENTS_MAX 256
#define TURN_WORKS 4u /* short ones, or a single long one, before the next lane's turn */
#define SLOTS 1024u   /* one revolution takes 17 s */
#define WORD_BITS 64u

static struct {
        int epoll;
        int status;
        bool stopped;
        int64_t now;
        struct list lanes; /* lanes with work */
        struct list graves;
        int64_t tick; /* all ticks before it were processed */
        struct list slots[SLOTS];
        uint64_t used[SLOTS / WORD_BITS]; /* slots that may contain timers */
} loop;

int loop_init(void)
{
        loop.now = clock_us();
        loop.tick = loop.now / LOOP_TICK_US;
        list_init(&loop.lanes);
        list_init(&loop.graves);
        for (unsigned i = 0; i < SLOTS; i++)
                list_init(&loop.slots[i]);
        loop.epoll = sys_epoll_create();
        return loop.epoll < 0 ? loop.epoll : 0;
}

int64_t loop_now(void)
{
        return loop.now;
}

void loop_stop(int status)
{
        loop.status = status;
        loop.stopped = true;
}

/* ---- descriptors ---- */

int loop_add(struct source *source, int fd, uint32_t events)
{
        struct epoll_event event = {.events = events, .data.ptr = source};
        int r = sys_epoll_ctl(loop.epoll, EPOLL_CTL_ADD, fd, &event);

        if (r == 0)
                source->fd = fd;
        return r;
}

int loop_change(struct source *source, uint32_t events)
{
        struct epoll_event event = {.events = events, .data.ptr = source};

        return sys_epoll_ctl(loop.epoll, EPOLL_CTL_MOD, source->fd, &event);
}

void loop_close(struct source *source)
{
        struct epoll_event event = {0};

        if (source->fd < 0)
                return;
        /* Explicitly: another process may keep the same socket open (a listener's owner), and then epoll
         * would still report its events. */
        sys_epoll_ctl(loop.epoll, EPOLL_CTL_DEL, source->fd, &event);
        sys_close(source->fd);
        source->fd = -1;
}

void loop_free(struct grave *grave, void *memory)
{
        grave->memory = memory;
        list_add(&loop.graves, &grave->entry);
}

static void free_all(void)
{
        list_each (at, &loop.graves, after) {
                struct grave *grave = list_entry(at, struct grave, entry);

                list_remove(at);
                free(grave->memory);
        }
}

/* ---- scheduling ---- */

void lane_init(struct lane *lane)
{
        list_init(&lane->entry);
        list_init(&lane->works);
}

void lane_done(struct lane *lane)
{
        list_remove(&lane->entry);
}

void work_init(struct work *work, bool (*run)(struct work *work))
{
        list_init(&work->entry);
        work->run = run;
}

void work_queue(struct lane *lane, struct work *work)
{
        if (list_empty(&work->entry))
                list_add(&lane->works, &work->entry);
        if (list_empty(&lane->entry))
                list_add(&loop.lanes, &lane->entry);
}

void work_cancel(struct work *work)
{
        list_remove(&work->entry);
}

/* Returns true if it was a long one. */
static bool run_first(struct lane *lane)
{
        struct work *work = list_entry(lane->works.next, struct work, entry);

        list_remove(&work->entry);
        if (!work->run(work))
                return false;
        work_queue(lane, work);
        return true;
}

void lane_run(struct lane *lane, unsigned most)
{
        while (most-- > 0 && !list_empty(&lane->works))
                run_first(lane);
}

/* Gives one turn to each lane that has work now. */
static void run_lanes(void)
{
        struct list turn;

        if (list_empty(&loop.lanes))
                return;
        turn = loop.lanes;
        turn.next->previous = turn.previous->next = &turn;
        list_init(&loop.lanes);
        while (!list_empty(&turn)) {
                struct lane *lane = list_entry(turn.next, struct lane, entry);

                list_remove(&lane->entry);
                for (unsigned i = 0; i < TURN_WORKS && !list_empty(&lane->works); i++)
                        if (run_first(lane))
                                break;
                if (!list_empty(&lane->works) && list_empty(&lane->entry))
                        list_add(&loop.lanes, &lane->entry);
        }
}

/* ---- timers ---- */

void timer_init(struct timer *timer, void (*fire)(struct timer *timer))
{
        list_init(&timer->entry);
        timer->fire = fire;
}

void timer_set(struct timer *timer, int64_t at)
{
        int64_t tick = at / LOOP_TICK_US + 1; /* never early */
        unsigned slot;

        if (tick < loop.tick)
                tick = loop.tick;
        slot = (unsigned)tick % SLOTS;
        list_remove(&timer->entry);
        timer->at = at;
        list_add(&loop.slots[slot], &timer->entry);
        loop.used[slot / WORD_BITS] |= (uint64_t)1 << slot % WORD_BITS;
}

void timer_stop(struct timer *timer)
{
        list_remove(&timer->entry);
}

static void fire_slot(unsigned slot)
{
        struct list due;

        list_init(&due);
        list_each (at, &loop.slots[slot], after) {
                if (list_entry(at, struct timer, entry)->at <= loop.now) {
                        list_remove(at);
                        list_add(&due, at);
                }
        }
        if (list_empty(&loop.slots[slot]))
                loop.used[slot / WORD_BITS] &= ~((uint64_t)1 << slot % WORD_BITS);
        while (!list_empty(&due)) { /* firing one may stop another */
                struct timer *timer = list_entry(due.next, struct timer, entry);

                list_remove(&timer->entry);
                timer->fire(timer);
        }
}

static void fire_timers(void)
{
        int64_t tick = loop.now / LOOP_TICK_US;

        if (tick - loop.tick >= SLOTS) /* after a long sleep: each slot once */
                loop.tick = tick - SLOTS + 1;
        for (; loop.tick <= tick; loop.tick++)
                fire_slot((unsigned)loop.tick % SLOTS);
}

/* Returns the milliseconds until the next used slot; -1: none. */
static int next_timer(void)
{
        for (unsigned i = 0; i < SLOTS;) {
                unsigned slot = (unsigned)(loop.tick + i) % SLOTS;
                uint64_t word = loop.used[slot / WORD_BITS] >> slot % WORD_BITS;

                if (word != 0) {
                        int64_t tick = loop.tick + i + __builtin_ctzll(word);
                        int64_t left = tick * LOOP_TICK_US - clock_us();

                        return left <= 0 ? 0 : (int)(left / 1000) + 1;
                }
                i += WORD_BITS - slot % WORD_BITS;
        }
        return -1;
}

/* ---- loop ---- */

int loop_run(void)
{
        static struct epoll_event events[EVENTS_MAX];

        while (!loop.stopped) {
                int timeout = list_empty(&loop.lanes) ? next_timer() : 0;
                int n = sys_epoll_wait(loop.epoll, events, EVENTS_MAX, timeout);

                if (n < 0 && n != -EINTR)
                        return 1;
                loop.now = clock_us();
                for (int i = 0; i < n; i++) {
                        struct source *source = events[i].data.ptr;

                        if (source->fd >= 0) /* otherwise an earlier event has closed it */
                                source->ready(source, events[i].events);
                }
                run_lanes();
                fire_timers();
                free_all();
        }
        return loop.status;
}
