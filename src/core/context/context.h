/* core/context/context.h -- contexts: interpreters in a sandbox, with variables that persist between runs.
 *
 *   DEAD --start--> STARTING --> IDLE <--> RUNNING
 *     ^                |           |          |
 *     |                +-----------+----------+--> (KILLING) --> GONE --restart--> STARTING
 *     +------------------------------------------------------------+
 *
 * A context is killed when it breaks the protocol, does not stop, or is restarted or removed.  It is dead
 * when its process has ended or its sandbox was lost.
 *
 * A context is a task of its sandbox, which counts as idle unless the context is running code.  Each run is
 * an execution of the API, with an id, a result and a row in the log. */
#pragma once
#include "base/keep.h"
#include "core/context/driver.h"
#include "core/request/request.h"
#include "core/sandbox/sandbox.h"
#include "core/timers.h"
#include "core/violation.h"
#include "engine/result.h"
#include "engine/verdict.h"

#define CONTEXT_RESULTS_MAX 64                   /* in one run; more ends the context */
#define CONTEXT_RESULTS_BYTES (16 * 1024 * 1024) /* of one run; what is more is left out */

enum context_state {
        CONTEXT_DEAD,     /* no process */
        CONTEXT_STARTING, /* its interpreter is not ready yet, or its sandbox is not */
        CONTEXT_IDLE,
        CONTEXT_RUNNING, /* runs code */
        CONTEXT_KILLING, /* SIGKILL was sent */
        CONTEXT_GONE,    /* the process has ended; the result of its run is being collected */
        CONTEXT_CLOSED,  /* removed; freed when libuv has closed its timer */
        CONTEXT_STATES
};

/* The timers of a context, beside those of its run (enum deadline_timer). */
enum context_timer {
        TIMER_INTERRUPT = DEADLINE_OWN, /* of the run: send SIGINT again, the first may have come too early */
        CONTEXT_RUN_TIMERS,
        TIMER_START = CONTEXT_RUN_TIMERS, /* the interpreter was not ready in time */
        TIMER_CLOSED,                     /* it closed its socket, but has not ended */
        TIMER_KILLED,                     /* init did not end it after SIGKILL */
};

struct context_run;

struct context {
        struct task task;
        struct core *core;
        struct core_sandbox *home; /* the sandbox it runs in; NULL: removed */
        char id[ID_SIZE], sandbox_id[ID_SIZE];
        char runtime[65];
        char name[65]; /* whoever gave it one finds it again; "": none */
        enum context_state state;
        char why[200];  /* it is dead; "": it is not */
        char said[160]; /* on standard error, before it was ready */
        int64_t created_ms;
        uint64_t runs;
        struct driver *driver; /* NULL: no process */
        struct context_run *run;
        bool ready; /* the interpreter was ready, since its last start */
        bool again; /* start it again when the process has ended */
        struct timers timers;
        /* Who waits for it to be ready; NULL: nobody. */
        void (*on_ready)(struct context *context, const struct cella_err *err, void *waiter);
        void *waiter;
};

/* Calls to whoever asked for the run.  Each may be NULL. */
struct context_run_events {
        /* Whoever has no room says so by context_run_wait(). */
        void (*on_output)(struct context_run *run, enum cella_stream stream, const char *data, size_t len,
                          void *caller);
        void (*on_result)(struct context_run *run, const char *json, size_t len, void *caller);
        void (*on_violation)(struct context_run *run, const struct violation *violation, void *caller);
        void (*on_end)(struct context_run *run, void *caller); /* once, last; *run is gone after it */
};

/*   RUNNING --> REPORTED --> FENCED --> ENDED --> FINISHING
 *
 * REPORTED and FENCED are skipped if SIGINT was not sent: see run.c. */
enum run_phase {
        RUN_RUNNING,
        RUN_REPORTED,  /* the driver reported the end; a SIGINT may still be on its way */
        RUN_FENCED,    /* an empty run was sent behind it */
        RUN_ENDED,     /* its counters are read */
        RUN_FINISHING, /* only the count of the network, or the scan, is missing */
        RUN_PHASES
};

/* Whether SIGINT was sent. */
enum run_interrupt {
        INTERRUPT_NONE,
        INTERRUPT_DEFERRED, /* sent as soon as the driver has read the code */
        INTERRUPT_SENT
};

struct context_run {
        struct context *context;
        struct core *core;
        char id[ID_SIZE], sandbox_id[ID_SIZE], context_id[ID_SIZE], key[ID_SIZE];
        /* For the log: the name of the key, and what its sandbox is. */
        char key_name[129], image_name[256];
        enum engine_choice engine;
        enum tier tier;
        struct exec_request request;
        struct cella_limits limits;
        int pid;
        int64_t started_us, started_ms; /* monotonic; realtime */
        struct keep keep[2];
        uint64_t total[2];
        char *results[CONTEXT_RESULTS_MAX]; /* JSON */
        size_t result_lens[CONTEXT_RESULTS_MAX], results_bytes;
        unsigned n_results, heard_results;
        char *error; /* JSON; NULL: none */
        size_t error_len;
        int64_t again_us; /* a second SIGINT is sent so long after the first; 0: none is */
        bool streamed;
        bool results_truncated;
        struct scan_job *scan; /* a worker thread scans its code; NULL: none does */
        enum run_phase phase;
        enum run_interrupt interrupt;
        bool interrupted; /* by context_interrupt(): the context must survive */
        struct verdict_facts facts;
        struct keeper_counted before; /* the sandbox's counters when it began */
        struct observer observer;
        struct cella_result result;
        uint32_t walls, missing;
        int audit_slot;
        const struct context_run_events *events;
        void *caller;
};

/* A new one, not started.  Says why not: too many, a runtime without contexts, a paused sandbox. */
int context_new(struct core_sandbox *sandbox, const char *runtime, struct context **ret,
                struct cella_err *err);
/* Starts it, or again: what runs in it is cancelled.  on_ready comes once, unless context_let_be().
 * It may come from within.  On failure it does not come. */
int context_start(struct context *context,
                  void (*on_ready)(struct context *, const struct cella_err *, void *), void *waiter,
                  struct cella_err *err);
void context_let_be(struct context *context); /* nobody waits for it any more */
/* SIGINT to the code that runs, if any does.  The context lives on. */
void context_interrupt(struct context *context);
/* Kills it and all it started, and forgets it. */
void context_remove(struct context *context);
void context_remove_all(struct core_sandbox *sandbox);
struct context *context_find(const struct core_sandbox *sandbox, const char *id);
json_t *context_to_json(const struct context *context);

/* Runs code in it.  Takes what *request holds, on failure too; then the log has the refusal.  Does not scan
 * the code: callers use exec_request_scan_first() before.  No event comes from within this call. */
int context_run_new(struct context *context, const struct caller *caller, struct exec_request *request,
                    bool streamed, const struct context_run_events *events, void *who,
                    struct context_run **ret, struct cella_err *err);
void context_run_release(struct context_run *run); /* no more events */
void context_run_wait(struct context_run *run, bool wait);
/* SIGINT, and after the grace time the whole context is killed. */
void context_run_cancel(struct context_run *run);
bool context_run_cancel_all(const struct core *core); /* whether there are any */
struct context_run *context_run_find(const struct core *core, const struct caller *caller, const char *id);
/* Calls each(run, …) for every run that is under way. */
void context_run_each(const struct core *core, void (*each)(struct context_run *, void *), void *what);
json_t *context_run_to_json(const struct context_run *run);
/* What its result has beside an execution's; points into run. */
struct result_run context_run_extra(const struct context_run *run);
/* The result as JSON text; the caller frees it. */
char *context_run_text(const struct context_run *run, unsigned flags, size_t *ret_len);
