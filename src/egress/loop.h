/* egress/loop.h -- the event loop of the egress process: descriptors, timers and fair scheduling.
 *
 * Descriptors are watched edge-triggered (EPOLLET), so that a descriptor that is not served now costs
 * nothing.  Work is queued in the lane of its sandbox.  Lanes take turns, and a turn is limited: a sandbox
 * with a thousand busy connections does not get more time than one with a single connection.
 *
 * Memory is not freed while events that may refer to it are processed: loop_free() frees it afterwards. */
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
/* Watches fd: edge-triggered, or level-triggered if EPOLLET is missing in events (EPOLLIN, EPOLLOUT).  On
 * failure, the caller keeps fd. */
int loop_add(struct source *source, int fd, uint32_t events);
int loop_change(struct source *source, uint32_t events);
/* Closes the descriptor, if any. */
void loop_close(struct source *source);

/* Runs until loop_stop() and returns its status. */
int loop_run(void);
void loop_stop(int status);

struct grave {
        struct list entry;
        void *memory;
};

/* Calls free(memory) later.  grave is part of memory. */
void loop_free(struct grave *grave, void *memory);

/* ---- scheduling ---- */

struct lane { /* of one sandbox */
        struct list entry, works;
};

struct work {
        struct list entry;
        /* Does a limited part of the work.  Returns true if there is more; false if not, or if it was
         * freed. */
        bool (*run)(struct work *work);
};

void lane_init(struct lane *lane);
void lane_done(struct lane *lane);
void work_init(struct work *work, bool (*run)(struct work *work));
/* Does nothing if it is queued already. */
void work_queue(struct lane *lane, struct work *work);
void work_cancel(struct work *work);
/* Runs the work queued in a lane now, at most `most` times. */
void lane_run(struct lane *lane, unsigned most);

/* ---- timers: they fire up to LOOP_TICK_US late ---- */

#define LOOP_TICK_US 16384

struct timer {
        struct list entry;
        int64_t at; /* clock_us() */
        void (*fire)(struct timer *timer);
};

void timer_init(struct timer *timer, void (*fire)(struct timer *timer));
void timer_set(struct timer *timer, int64_t at);
void timer_stop(struct timer *timer);

/* Time of the current events: a cached clock_us(). */
int64_t loop_now(void);
