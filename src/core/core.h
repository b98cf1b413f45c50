/* core/core.h -- the state of the daemon's server, and its metrics.
 *
 * All of core/ runs in one thread, that of the event loop.  Below it are the keeper (makes and ends
 * sandboxes) and the init of each sandbox (executes requests); above it are the protocols. */
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
#define METRICS_MINUTES 60

struct core;
struct core_sandbox;
struct images;
struct docker;

/* What ended in one minute.  Recorded when an execution ends, so an idle daemon does not wake up for it. */
struct metrics_minute {
        int64_t minute; /* since 1970 */
        uint32_t executions, latency[METRICS_BUCKETS + 1];
        uint32_t alive; /* the most sandboxes that existed when an execution ended */
};

struct metrics {
        uint64_t executions[METRICS_STATUSES]; /* by status */
        uint64_t latency[METRICS_BUCKETS + 1]; /* executions by duration, see metrics_bounds_us; last: more */
        uint64_t latency_sum_us;
        struct metrics_minute minutes[METRICS_MINUTES]; /* a ring; see metrics_minute() */
        uint64_t sandboxes_made, sandboxes_failed;
        struct keeper_groups groups; /* as the keeper last reported it */
        uint64_t refused_capacity;   /* 429 */
        uint64_t requests[6];        /* by the first digit of the HTTP status */
        uint64_t refused_auth;       /* 401 and 403 */
        uint64_t violations[VIOLATION_KINDS];
};

extern const uint64_t metrics_bounds_us[METRICS_BUCKETS];

/* Returns what was recorded in that minute since 1970; NULL: nothing, or it was too long ago. */
const struct metrics_minute *metrics_minute(const struct metrics *m, int64_t minute);

/* Callbacks for one observer of all events. */
struct core_watch {
        void (*on_sandbox_gone)(const struct core_sandbox *sandbox, void *context);
        void (*on_recorded)(const struct audit_begin *begin, const struct audit_end *end, void *context);
        void *context;
};

/* Calls from lower to higher parts of core; set by start.c. */
struct core_hooks {
        /* The sandbox is about to be freed: executions, contexts and pools must drop their references. */
        void (*on_sandbox_gone)(struct core_sandbox *sandbox);
        /* Ends pooled sandboxes to make room for so many.  Returns whether it ended any. */
        bool (*free_pooled)(struct core *core, unsigned wanted);
        /* Returns how many active executions started after since_us; counts at most max. */
        unsigned (*executions_since)(const struct core *core, int64_t since_us, unsigned max);
        /* The sandbox ends and will be made again: contexts must be removed. */
        void (*on_sandbox_renewed)(struct core_sandbox *sandbox);
};

/* A process of the keeper that makes sandboxes. */
struct worker {
        struct core *core;
        struct keeper_link *link;    /* NULL: not connected */
        struct keeper_groups groups; /* as it last reported it */
};

struct core {
        const struct core_hooks *hooks;
        uv_loop_t *loop;
        struct keeper_link *keeper;
        struct worker workers[KEEPER_WORKERS_MAX]; /* see sandbox/workers.h */
        unsigned worker_turn;
        struct egress *egress;
        struct images *images;
        struct docker *docker; /* the second engine */
        struct state *state;
        struct audit *audit;
        struct secret_store *secrets;    /* borrowed; NULL: not available */
        struct cella_err no_secrets;     /* reason why secrets are not available */
        char directory[KEEPER_PATH_MAX]; /* of the state */
        char store[KEEPER_PATH_MAX];     /* of the images, see image/store/store.h */
        struct settings settings;
        struct list sandboxes;  /* struct core_sandbox */
        struct list executions; /* struct execution: the active ones */
        struct list scan_jobs;  /* struct scan_job: those that wait for a thread */
        unsigned scans_running;
        struct list settling; /* struct execution: answered, with remaining work that no client waits for */
        uv_prepare_t settle;  /* does the remaining work */
        struct list pools;    /* struct pool */
        struct list learners; /* struct learner: see pool/learn.h */
        struct list used_images; /* struct used_image: cache of images in the store */
        unsigned n_used_images;
        unsigned n_packages;
        struct list packages; /* see package_cache.h */
        uint64_t packages_bytes;
        int64_t images_stamp; /* state of the store at that time */
        struct list queue;    /* struct queue_key: those with waiting requests */
        unsigned cores;       /* of this machine */
        struct list places;   /* struct place: of sandboxes that count for the limits */
        unsigned alive;       /* number of places */
        unsigned ending;      /* number of those that are being ended */
        unsigned waiting;     /* number of requests in the queue */
        uv_timer_t cleanup;   /* ends idle sandboxes, every cleanup_interval_ms */
        uv_timer_t tick;      /* see core_hurry() */
        uv_timer_t lull;      /* runs when nothing is active, for the pools */
        struct metrics metrics;
        struct refusals refusals; /* limits the log rows of refused requests */
        struct core_watch watch;  /* zero: no observer */
        int64_t started_us;
        bool volumes; /* persistent workspaces have a disk limit: keeper/process/volume.h */
        bool stopping;
        int64_t stop_at_us;                        /* time at which everything is killed */
        unsigned interrupted;                      /* executions that the previous daemon left */
        void (*on_drained)(struct core *, void *); /* called when core_stop() has finished */
        void *drained_context;
        /* The capabilities of this host, determined by a sandbox that is made at the start. */
        bool probed;
        uint32_t walls, missing;
        struct cella_err unable; /* why sandboxes cannot run; kind CELLA_OK: they can */
        bool keeper_silent;      /* it has not answered a KEEPER_PING in time, and not since */
};

/* Call when a request begins to wait or a sandbox is being made: the tick then checks them every
 * CORE_TICK_MS.  While nothing happens, it runs once a second. */
#define CORE_TICK_MS 50
void core_hurry(struct core *core);

/* Return the current time in milliseconds, and a time as RFC 3339. */
int64_t core_now_ms(void);
json_t *core_time(int64_t ms);
