/* front/rest/events.h -- shared by events.c and events_report.c. */
#pragma once
#include "front/rest/log_filter.h"
#include "front/rest/rest.h"
#include "front/sse.h"

#define SAMPLES_MAX 8192 /* durations of one second */
#define USAGE_MAX 32     /* sandboxes per second for which the keeper is asked for counters */

enum { TOPIC_MONITOR = 1, TOPIC_EXECUTIONS = 2 };

struct watcher {
        struct list link;
        struct sse sse;
        struct call *call;
        unsigned topics;
        bool all;    /* may see executions of other keys */
        bool counts; /* may see the counters of the whole daemon */
        struct log_filter filter;
        json_t *rows; /* executions to report to it */
        unsigned missed;
        int64_t stale_us; /* since when it has no room; 0: it has room */
};

struct sample {
        char key[ID_SIZE];
        uint32_t us;
};

/* A request to the keeper. */
struct asked {
        char id[ID_SIZE], key[ID_SIZE];
        bool busy, known;
        struct keeper_counted counted;
};

struct events {
        struct api *api;
        struct list watchers;
        unsigned n;
        uv_timer_t timer;
        unsigned ticks;
        struct sample *samples; /* collected while there are watchers */
        unsigned n_samples;
        uint64_t n_ended; /* in this second, sampled or not */
        int64_t second_us;
        struct asked asked[USAGE_MAX];
        unsigned ask_from;
        bool looking;
};

/* events_report.c */
bool events_shows(const struct core_sandbox *sb, const struct caller *caller);
/* Returns a number that changes whenever a shown property of the sandbox changes; never 0. */
uint64_t events_look_of(const struct core_sandbox *sb);
void events_report_sandbox(struct watcher *w, const struct core_sandbox *sb);
void events_report_sandboxes(struct watcher *w);
void events_report_snapshot(const struct events *e, struct watcher *w);
/* The last hour, for watchers that may see the counters of the whole daemon. */
void events_report_history(struct watcher *w);
void events_report_usage(const struct events *e, struct watcher *w);
void events_report_executions(struct watcher *w);
