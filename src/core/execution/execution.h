/* core/execution/execution.h -- one execution, from the request to the result.
 *
 * Attached to a sandbox as a task; it begins when init can take messages, and ends with init's word
 * that everything it started is gone, or with the sandbox.  Its deadlines are ours: they hold
 * whatever the code, init or the reader of the output does. */
#pragma once
#include "base/keep.h"
#include "core/pool/waiting.h"
#include "core/request/request.h"
#include "core/ring.h"
#include "core/sandbox/sandbox.h"
#include "core/timers.h"
#include "core/violation.h"
#include "engine/link/fd_poll.h"
#include "engine/verdict.h"

struct execution;

/* Calls to whoever asked for it.  Each may be NULL. */
struct execution_events {
        void (*on_started)(struct execution *ex, int terminal,
                           void *context); /* terminal: the master, or -1 */
        /* Output as it comes.  Whoever has no room says so by execution_wait(). */
        void (*on_output)(struct execution *ex, enum cella_stream stream, const char *data, size_t len,
                          void *context);
        /* Something was refused. */
        void (*on_violation)(struct execution *ex, const struct violation *violation, void *context);
        /* Once, last.  ex->failure.kind says that nothing was run, else ex->result is there. */
        void (*on_end)(struct execution *ex, void *context);
};

/* Somebody who follows what a background process prints. */
struct follower {
        struct list link;
        void (*on_more)(struct follower *follower); /* the rings or its observer have more, or it has ended */
};

/*   NEW --> ATTACHED --> RUNNING --> ENDED --> (FINISHING) --> DONE
 *
 * One that fails goes to DONE from any phase.  It goes back to ATTACHED if its interpreter ended before it
 * read the code, and to NEW if its sandbox did. */
enum execution_phase {
        EXECUTION_NEW,       /* waits for its sandbox */
        EXECUTION_ATTACHED,  /* init takes its messages; its files are written, or its code is scanned */
        EXECUTION_RUNNING,   /* the command was sent */
        EXECUTION_ENDED,     /* its processes have ended; counters and the list of files are collected */
        EXECUTION_FINISHING, /* only the count of the network, or the scan, is missing */
        EXECUTION_DONE,      /* on_end() was called */
        EXECUTION_PHASES
};

/* Counters that were requested when the output of the code ended: usually the code ends then, too. */
enum early_count { EARLY_NONE, EARLY_REQUESTED, EARLY_RECEIVED, EARLY_AWAITED /* by the result */ };

/* The list of changed files. */
enum file_list { LIST_ON_REQUEST, LIST_EXPECTED /* init sends it by itself */, LIST_RECEIVED };

enum execution_kind { EXECUTION_PLAIN, EXECUTION_STREAMED, EXECUTION_BACKGROUND, EXECUTION_TERMINAL };

struct stream_in {
        struct fd_poll poll;
        int fd; /* our end; -1: closed */
        char *data;
        size_t len, at;
        bool open_ended; /* more may come */
};

struct stream_out {
        struct fd_poll poll;
        int fd;
        struct keep keep;
        struct ring ring;         /* of a background process */
        struct mask_stream *mask; /* takes secrets out of it; NULL: there are none */
        uint64_t total;
};

struct execution {
        struct list link;               /* in the core, while it is under way; then until it is settled */
        struct sandbox_process process; /* in its sandbox, if it is in the background */
        struct list followers;          /* struct follower */
        struct task task;
        struct core *core;
        struct core_sandbox *wanted; /* until it is attached */
        struct core_sandbox *leaves; /* to be removed behind the answer */
        unsigned refs;
        char id[ID_SIZE], sandbox_id[ID_SIZE], key[ID_SIZE];
        /* For the log: the name of the key, and what its sandbox is. */
        char key_name[129], image_name[256];
        enum engine_choice engine;
        enum tier tier;
        enum execution_kind kind;
        struct exec_request request;
        struct cella_limits limits;
        uint32_t tag, put_tag; /* the second for what is put there before, if something has the first */
        int slot;
        uint16_t columns, rows;
        struct waiting_how how; /* kind WAITING_NOT: started plainly */
        int control;            /* of an interpreter that waits; -1: none */
        int pid;
        uint64_t spawn_number; /* of the frame that started it plainly, see channel_sent() */
        unsigned moves;        /* to another sandbox, because one died before the code began */
        char script[16];       /* the file in the workspace that is ours; "": none */
        size_t files_put;
        int64_t come_us;
        int64_t released_us; /* just before its code was sent to the sandbox */
        int64_t started_us;  /* the same, or when the sandbox was ready, if that was later; 0: not yet */
        int64_t ended_us;    /* every process of it was gone, or had said how it ends */
        int64_t started_ms;  /* realtime */
        struct timespec since;
        struct stream_in in;
        struct stream_out out[2];
        uint32_t due; /* until it is attached: the enum init_reply that init owes us, 0 if none */
        enum execution_phase phase;
        enum file_list file_list;
        enum early_count early_count;
        struct scan_job *scan; /* a worker thread scans its code; NULL: none does */
        bool no_deadline;      /* it has no timeout */
        bool waited;      /* its interpreter reported that it waits for code: the exit code is the code's */
        bool undelivered; /* the code could not be sent to the waiting interpreter */
        bool announced;   /* on_started() was called */
        bool cpu_counted; /* `before` has the CPU time of a sandbox of its own, too */
        bool waits;       /* the reader has no room: no output is read */
        bool logged;      /* the log has its begin */
        bool maybe_ran;   /* the sandbox was lost, with an error, after the code was sent */
        struct timers timers;
        struct verdict_facts facts;
        uint64_t cpu_before_us;       /* of the interpreter, while it waited */
        int64_t early_us;             /* when the early counters were requested */
        struct keeper_counted early;  /* EARLY_RECEIVED */
        struct keeper_counted before; /* the sandbox's counters when it began */
        struct observer observer;
        struct cella_result result;
        struct cella_err failure;
        uint32_t walls, missing;
        int audit_slot;
        const struct execution_events *events;
        void *context;
};

/* Makes one; takes what *request holds, on failure too.  The caller holds it until
 * execution_release(). */
int execution_new(struct core *core, const struct caller *caller, struct core_sandbox *sandbox,
                  struct exec_request *request, const struct cella_limits *limits, enum execution_kind kind,
                  const struct execution_events *events, void *context, struct execution **ret,
                  struct cella_err *err);
/* Begins.  Events may come from within, the last one too. */
void execution_start(struct execution *ex);

/* Does what was put off until the answers are out: the log, the ends of sandboxes, new members of pools. */
void executions_settle(struct core *core);
/* It is gone already. */
void executions_forget_sandbox(const struct core_sandbox *sandbox);

/* The one who asked is gone or has what it wants: no more events. */
void execution_release(struct execution *ex);
void execution_ref(struct execution *ex);
void execution_unref(struct execution *ex);

void execution_cancel(struct execution *ex);
/* SIGTERM, because the daemon stops: it has the grace time to end by itself. */
void execution_terminate(struct execution *ex);
/* Reads no output until execution_go_on(). */
void execution_wait(struct execution *ex);
void execution_go_on(struct execution *ex);
int execution_signal(struct execution *ex, int signal);
/* Bytes for its standard input; -ENOBUFS when too many wait, -EPIPE when it is closed. */
int execution_feed(struct execution *ex, const char *data, size_t len, bool eof);

/* Whether it has ended, and its result or failure is there. */
static inline bool execution_is_done(const struct execution *ex)
{
        return ex->phase == EXECUTION_DONE;
}

/* See struct core_hooks. */
unsigned executions_since(const struct core *core, int64_t since_us, unsigned max);
struct execution *execution_find(const struct core *core, const struct caller *caller, const char *id);
struct execution *execution_find_process(const struct core_sandbox *sandbox, int pid);
/* Its sandbox shows it among its processes from now on. */
void execution_keep_process(struct core_sandbox *sandbox, struct execution *ex);
void execution_forget_processes(struct core_sandbox *sandbox);
/* {"id", "sandbox", "status": "running", …} of one that is under way. */
json_t *execution_to_json(const struct execution *ex);
/* The result as JSON text; the caller frees it. */
char *execution_result_text(const struct execution *ex, unsigned flags, size_t *ret_len);
