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
#include "core/pictures.h"
#include "core/request/request.h"
#include "core/sandbox/sandbox.h"
#include "core/timers.h"
#include "core/violation.h"
#include "engine/result.h"
#include "engine/verdict.h"

#define CONTEXT_RESULTS_MAX 64                   /* in one run; more end the context */
#define CONTEXT_RESULTS_BYTES (16 * 1024 * 1024) /* of one run; more are left out */

enum context_state {
        CONTEXT_DEAD,     /* no process */
        CONTEXT_STARTING, /* the interpreter or the sandbox is not ready yet */
        CONTEXT_IDLE,
        CONTEXT_RUNNING, /* runs code */
        CONTEXT_KILLING, /* SIGKILL was sent */
        CONTEXT_GONE,    /* the process has ended; the result of its run is being collected */
        CONTEXT_CLOSED,  /* removed; freed when libuv has closed its timer */
        CONTEXT_STATES
};

/* The timers of a context, beside those of its run (enum deadline_timer). */
enum context_timer {
        TIMER_INTERRUPT = DEADLINE_OWN, /* send SIGINT again, the first one may have come too early */
        TIMER_ANSWER,                   /* init has not answered, see ask.c */
        CONTEXT_RUN_TIMERS,
        TIMER_START = CONTEXT_RUN_TIMERS, /* the interpreter was not ready in time */
        TIMER_CLOSED,                     /* it has closed its socket but not ended */
        TIMER_KILLED,                     /* init did not end it after SIGKILL */
};

struct context_run;

struct context {
        struct task task;
        struct core *core;
        struct core_sandbox *home; /* the sandbox it runs in; NULL: removed */
        char id[ID_SIZE], sandbox_id[ID_SIZE];
        char runtime[65];
        char name[65]; /* name chosen by a client, to find it again; "": none */
        enum context_state state;
        char why[200];  /* reason of its death; "": not dead */
        char said[160]; /* end of its standard error before it was ready */
        int64_t created_ms;
        uint64_t runs;
        struct driver *driver; /* NULL: no process */
        struct context_run *run;
        bool ready;      /* the interpreter became ready after its last start */
        bool of_one_run; /* it is removed with its only run: clients do not know it */
        bool again;      /* start it again when the process has ended */
        struct timers timers;
        /* Called once when it is ready or failed; NULL: no one waits. */
        void (*on_ready)(struct context *context, const struct cella_err *err, void *waiter);
        void *waiter;
};

/* Callbacks for the owner of a run.  Each may be NULL. */
struct context_run_events {
        /* If the owner cannot take more output, it calls context_run_wait(). */
        void (*on_output)(struct context_run *run, enum cella_stream stream, const char *data, size_t len,
                          void *caller);
        void (*on_result)(struct context_run *run, const char *json, size_t len, void *caller);
        void (*on_violation)(struct context_run *run, const struct violation *violation, void *caller);
        void (*on_end)(struct context_run *run, void *caller); /* the last call; *run is freed afterwards */
};

/*   RUNNING --> REPORTED --> FENCED --> ENDED --> FINISHING
 *
 * REPORTED and FENCED are skipped if SIGINT was not sent: see run.c. */
enum run_phase {
        RUN_RUNNING,
        RUN_REPORTED,  /* the driver reported the end; a SIGINT may still be in flight */
        RUN_FENCED,    /* an empty run was sent after it */
        RUN_ENDED,     /* its counters are read */
        RUN_FINISHING, /* waits only for the network counters or the scan */
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
        /* For the log: name of the key and properties of the sandbox. */
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
        int64_t again_us; /* delay of a second SIGINT; 0: none */
        bool streamed;
        bool results_truncated;
        struct timespec since;     /* with request.list_files: when it began, as file timestamps have it */
        uint32_t ask_tag;          /* of questions to init, see ask.c; 0: none */
        unsigned asked;            /* answers that are awaited */
        struct pictures *pictures; /* while they are read; NULL: they are not */
        struct scan_job *scan;     /* scan of the code in a worker thread; NULL: none */
        enum run_phase phase;
        enum run_interrupt interrupt;
        bool interrupted; /* by context_interrupt(): the context must survive */
        struct verdict_facts facts;
        struct keeper_counted before; /* the sandbox's counters at the start */
        struct observer observer;
        struct cella_result result;
        uint32_t walls, missing;
        int audit_slot;
        const struct context_run_events *events;
        void *caller;
};

/* Makes a context without starting it.  Fails if there are too many, the runtime has no contexts, or the
 * sandbox is paused. */
int context_new(struct core_sandbox *sandbox, const char *runtime, struct context **ret,
                struct cella_err *err);
/* Starts or restarts the context; a restart cancels its run.  on_ready is called once, possibly before the
 * return, unless context_let_be() is called or this function fails. */
int context_start(struct context *context,
                  void (*on_ready)(struct context *, const struct cella_err *, void *), void *waiter,
                  struct cella_err *err);
void context_let_be(struct context *context); /* drops on_ready */
/* Sends SIGINT to the running code, if any.  The context survives. */
void context_interrupt(struct context *context);
/* Kills all its processes and removes it. */
void context_remove(struct context *context);
void context_remove_all(struct core_sandbox *sandbox);
struct context *context_find(const struct core_sandbox *sandbox, const char *id);
json_t *context_to_json(const struct context *context);

/* Runs code in the context.  Takes the contents of *request, also on failure, which is logged.  Does not scan
 * the code: admission_begin() does that before.  No callback is made during this call. */
int context_run_new(struct context *context, const struct caller *caller, struct exec_request *request,
                    bool streamed, const struct context_run_events *events, void *who,
                    struct context_run **ret, struct cella_err *err);
void context_run_release(struct context_run *run); /* no more callbacks */
void context_run_wait(struct context_run *run, bool wait);
/* Sends SIGINT; kills the whole context after the grace time. */
void context_run_cancel(struct context_run *run);
bool context_run_cancel_all(const struct core *core); /* returns whether there are any */
struct context_run *context_run_find(const struct core *core, const struct caller *caller, const char *id);
/* Calls each(run, what) for every active run. */
void context_run_each(const struct core *core, void (*each)(struct context_run *, void *), void *what);
json_t *context_run_to_json(const struct context_run *run);
/* Returns the additional fields of its result; they point into run. */
struct result_run context_run_extra(const struct context_run *run);
/* Returns the result as JSON text, which the caller frees. */
char *context_run_text(const struct context_run *run, unsigned flags, size_t *ret_len);
