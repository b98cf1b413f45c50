/* egress/loop.h -- the egress process's one loop: descriptors, timers, and turns.
 *
 * Descriptors are watched for changes only (EPOLLET), so that one that is not served now costs
 * nothing.  Who has something to do queues work in the lane of its sandbox; lanes take turns, and a turn is
 * bounded: a sandbox with a thousand busy connections gets no more of us than one with a single one.
 *
 * Nothing is freed while events that may point to it are handled: loop_free() does it afterwards. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

/* ---- descriptors ---- */

struct source {
        int fd; /* -1: none */
        void (*ready)(struct source *source, uint32_t events);
};

int loop_init(void);
/* Watches fd for changes, or with EPOLLET missing in events (EPOLLIN, EPOLLOUT) for as long as it is ready.
 * On failure fd stays the caller's. */
int loop_add(struct source *source, int fd, uint32_t events);
int loop_change(struct source *source, uint32_t events);
/* Closes it; fine if there is none. */
void loop_close(struct source *source);

/* Serves until loop_stop(); returns its status. */
int loop_run(void);
void loop_stop(int status);

struct grave {
        struct list entry;
        void *memory;
};

/* free(memory), a little later.  grave is in there. */
void loop_free(struct grave *grave, void *memory);

/* ---- turns ---- */

struct lane { /* of a sandbox */
        struct list entry, works;
};

struct work {
        struct list entry;
        /* A bounded part of what there is to do.  True: there is more.  False: there is not, or it was freed.
         */
        bool (*run)(struct work *work);
};

void lane_init(struct lane *lane);
void lane_done(struct lane *lane);
void work_init(struct work *work, bool (*run)(struct work *work));
/* Fine if it is queued already. */
void work_queue(struct lane *lane, struct work *work);
void work_cancel(struct work *work);
/* Runs what is queued in a lane now, at most `most` times. */
void lane_run(struct lane *lane, unsigned most);

/* ---- timers: they come up to LOOP_TICK_US late ---- */

#define LOOP_TICK_US 16384

struct timer {
        struct list entry;
        int64_t at; /* clock_us() */
        void (*fire)(struct timer *timer);
};

void timer_init(struct timer *timer, void (*fire)(struct timer *timer));
void timer_set(struct timer *timer, int64_t at);
void timer_stop(struct timer *timer);

/* When the events at hand came: as good as clock_us(), without asking each time. */
int64_t loop_now(void);
