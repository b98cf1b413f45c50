/* core/core.h -- everything the daemon looks after, and what it counts.
 *
 * All of core/ runs in one thread, that of the event loop.  Below it are the keeper (makes and
 * ends sandboxes) and each sandbox's init (runs what we ask); above it are the protocols. */
#pragma once
#include <uv.h>

#include "audit/audit.h"
#include "base/list.h"
#include "core/caller.h"
#include "core/refusal.h"
#include "core/settings/settings.h"
#include "engine/link/keeper_link.h"
#include "engine/violation.h"
#include "secret/store.h"
#include "state/state.h"

#define METRICS_BUCKETS 14
#define METRICS_STATUSES (CELLA_INTERRUPTED + 1)

struct core;
struct core_sandbox;
struct images;
struct docker;

struct metrics {
        uint64_t executions[METRICS_STATUSES]; /* by status */
        uint64_t latency[METRICS_BUCKETS + 1]; /* executions by duration, see metrics_bounds_us; last: more */
        uint64_t latency_sum_us;
        uint64_t sandboxes_made, sandboxes_failed;
        uint64_t refused_capacity; /* 429 */
        uint64_t requests[6];      /* by the HTTP code's first digit */
        uint64_t refused_auth;     /* 401 and 403 */
        uint64_t violations[VIOLATION_KINDS];
};

extern const uint64_t metrics_bounds_us[METRICS_BUCKETS];

/* Somebody who wants to know of everything, while there is one. */
struct core_watch {
        void (*on_sandbox_gone)(const struct core_sandbox *sandbox, void *context);
        void (*on_recorded)(const struct audit_begin *begin, const struct audit_end *end, void *context);
        void *context;
};

/* Calls from lower to higher parts of core; start.c fills them in. */
struct core_hooks {
        /* The sandbox is about to be freed: executions, contexts and pools forget it. */
        void (*on_sandbox_gone)(struct core_sandbox *sandbox);
        /* So many sandboxes need room: ends as many pooled ones as that takes.  Whether it ended any. */
        bool (*free_pooled)(struct core *core, unsigned wanted);
        /* How many of the executions under way came after since_us; counts at most max. */
        unsigned (*executions_since)(const struct core *core, int64_t since_us, unsigned max);
};

struct core {
        const struct core_hooks *hooks;
        uv_loop_t *loop;
        struct keeper_link *keeper;
        struct egress *egress;
        struct images *images;
        struct docker *docker; /* the second engine */
        struct state *state;
        struct audit *audit;
        struct secret_store *secrets;    /* borrowed; NULL: */
        struct cella_err no_secrets;     /* why there are none to be had */
        char directory[KEEPER_PATH_MAX]; /* of the state */
        char store[KEEPER_PATH_MAX];     /* of the images, see image/store/store.h */
        struct settings settings;
        struct list sandboxes;  /* struct core_sandbox */
        struct list executions; /* struct execution, those that are under way */
        struct list scan_jobs;  /* struct scan_job, those that wait for a thread */
        unsigned scans_running;
        struct list settling;    /* struct execution, answered, with work left that nobody waits for */
        uv_prepare_t settle;     /* does it */
        struct list pools;       /* struct pool */
        struct list used_images; /* struct used_image, what was looked up in the store */
        unsigned n_used_images;
        int64_t images_stamp; /* as the store was then */
        struct list queue;    /* struct queue_key, those with somebody waiting */
        unsigned cores;       /* of this machine */
        struct list places;   /* struct place, of sandboxes that take up room */
        unsigned alive;       /* how many these are */
        unsigned ending;      /* and how many of them are being ended */
        unsigned waiting;     /* in the queue */
        uv_timer_t cleanup;   /* of sandboxes, every cleanup_interval_ms */
        uv_timer_t tick;      /* while somebody waits, or something is being made */
        uv_timer_t lull;      /* since nothing was under way, for the pools */
        struct metrics metrics;
        struct refusals refusals; /* how many more rows of refused requests the log takes */
        struct core_watch watch;  /* zero: no watcher */
        int64_t started_us;
        bool stopping;
        int64_t stop_at_us;                        /* then what still runs is killed */
        unsigned interrupted;                      /* executions that the last daemon left behind */
        void (*on_drained)(struct core *, void *); /* core_stop() is done */
        void *drained_context;
        /* What this host can give, found out by a sandbox made at start. */
        bool probed;
        uint32_t walls, missing;
        struct cella_err unable; /* why it can run nothing; kind CELLA_OK if it can */
};

/* Realtime, in milliseconds; and as RFC 3339. */
int64_t core_now_ms(void);
json_t *core_time(int64_t ms);
