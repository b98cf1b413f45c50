/* core/execution/execution.h -- one execution, from the request to the result.
 *
 * It is attached to a sandbox as a task.  It starts when init can receive messages, and ends when init
 * reports that all its processes have ended, or with the sandbox.  The server enforces its deadlines,
 * independent of the code, of init and of the reader of the output. */
#pragma once
#include "base/keep.h"
#include "core/context/driver_frames.h"
#include "core/pictures.h"
#include "core/pool/waiting.h"
#include "core/request/request.h"
#include "core/ring.h"
#include "core/sandbox/sandbox.h"
#include "core/timers.h"
#include "core/violation.h"
#include "engine/link/fd_poll.h"
#include "engine/result.h"
#include "engine/verdict.h"

struct execution;

/* Callbacks for the client.  Each may be NULL. */
struct execution_events {
        void (*on_started)(struct execution *ex, int terminal,
                           void *context); /* terminal: the pty master, or -1 */
        /* Output as it arrives.  A client that cannot take more calls execution_wait(). */
        void (*on_output)(struct execution *ex, enum cella_stream stream, const char *data, size_t len,
                          void *context);
        /* Something was refused. */
        void (*on_violation)(struct execution *ex, const struct violation *violation, void *context);
        /* The last callback.  If ex->failure.kind is set, nothing was run; otherwise ex->result is valid. */
        void (*on_end)(struct execution *ex, void *context);
        /* A picture as JSON; before on_end, which has all of them. */
        void (*on_result)(struct execution *ex, const char *json, size_t len, void *context);
};

/* A client that follows the output of a background process. */
struct follower {
        struct list link;
        void (*on_more)(struct follower *follower); /* there is new output or a violation, or it has ended */
};

/* NEW --> ATTACHED --> RUNNING --> ENDED --> (FINISHING) --> DONE
 *
 * A failed execution goes to DONE from any phase.  It returns to ATTACHED if its interpreter ended before it
 * read the code, and to NEW if its sandbox did. */
enum execution_phase {
        EXECUTION_NEW,       /* waits for its sandbox */
        EXECUTION_ATTACHED,  /* init receives its messages; its files are written, or its code is scanned */
        EXECUTION_RUNNING,   /* the command was sent */
        EXECUTION_ENDED,     /* its processes have ended; counters and file list are collected */
        EXECUTION_FINISHING, /* waits only for the network counters or the scan */
        EXECUTION_DONE,      /* on_end() was called */
        EXECUTION_PHASES
};

/* Counters that are requested when the output ends, because the code usually ends then too. */
enum early_count { EARLY_NONE, EARLY_REQUESTED, EARLY_RECEIVED, EARLY_AWAITED /* by the result */ };

/* The list of changed files. */
enum file_list { LIST_ON_REQUEST, LIST_EXPECTED /* init sends it without a request */, LIST_RECEIVED };

enum execution_kind { EXECUTION_PLAIN, EXECUTION_STREAMED, EXECUTION_BACKGROUND, EXECUTION_TERMINAL };

struct stream_in {
        struct fd_poll poll;
        int fd; /* our end; -1: closed */
        char *data;
        size_t len, at;
        bool open_ended; /* more input may follow */
};

struct stream_out {
        struct fd_poll poll;
        int fd;
        struct keep keep;
        struct ring ring;         /* for a background process */
        struct mask_stream *mask; /* masks secrets; NULL: there are none */
        uint64_t total;
};

/* The value of the last expression, see values.c. */
#define VALUES_MAX 64 /* results */
#define VALUES_BYTES_MAX (16u * 1024 * 1024)
struct values {
        struct fd_poll poll;
        int fd; /* our end of the socket; -1: none */
        struct driver_frames frames;
        unsigned n;
        size_t bytes;
        char *program; /* runs the code; NULL: the code is run directly */
        size_t program_len;
};

struct execution {
        struct list link;               /* in core->executions while active, then in core->settling */
        struct sandbox_process process; /* in its sandbox, for a background process */
        struct list followers;          /* struct follower */
        struct task task;
        struct core *core;
        struct core_sandbox *wanted; /* set until it is attached */
        struct core_sandbox *leaves; /* sandbox to remove after the answer */
        unsigned refs;
        char id[ID_SIZE], sandbox_id[ID_SIZE], key[ID_SIZE];
        /* For the log: name of the key and properties of the sandbox. */
        char key_name[129], image_name[256];
        enum engine_choice engine;
        enum tier tier;
        enum execution_kind kind;
        struct exec_request request;
        struct cella_limits limits;
        uint32_t tag, put_tag; /* put_tag: for file uploads while `tag` belongs to a waiting interpreter */
        int slot;              /* number of the command in the sandbox; -1: none */
        uint16_t columns, rows;
        struct waiting_how how; /* kind WAITING_NOT: started normally */
        int control;            /* socket to a waiting interpreter; -1: none */
        int pid;
        uint64_t spawn_number; /* number of the frame that started it normally, see channel_sent() */
        unsigned moves;        /* how often it was moved because a sandbox died before the code started */
        char script[16];       /* the file with the code in the workspace; "": none */
        size_t files_put;
        int64_t come_us;
        int64_t released_us; /* just before the code was sent to the sandbox */
        int64_t started_us;  /* the same, or when the sandbox became ready, whichever is later; 0: not yet */
        int64_t ended_us;    /* when all its processes had ended */
        int64_t started_ms;  /* realtime */
        struct timespec since;
        struct stream_in in;
        struct stream_out out[2];
        uint32_t due; /* until it is attached: the enum init_reply that is expected; 0: none */
        enum execution_phase phase;
        enum file_list file_list;
        enum early_count early_count;
        struct scan_job *scan; /* scan of the code in a worker thread; NULL: none */
        bool no_deadline;      /* it has no timeout */
        bool waited;           /* its interpreter was waiting for code: the exit code is the code's */
        bool undelivered;      /* the code could not be sent to the waiting interpreter */
        bool announced;        /* on_started() was called */
        bool cpu_counted;      /* `before` includes the CPU time, also for a sandbox of its own */
        bool waits;            /* the reader is full: no output is read */
        bool logged;           /* its start was logged */
        bool maybe_ran;        /* the sandbox was lost with an error after the code was sent */
        struct timers timers;
        struct verdict_facts facts;
        uint64_t cpu_before_us;       /* CPU time of the interpreter while it waited */
        int64_t early_us;             /* when the early counters were requested */
        struct keeper_counted early;  /* valid with EARLY_RECEIVED */
        struct keeper_counted before; /* the sandbox's counters at the start */
        struct observer observer;
        struct cella_result result;
        struct pictures *pictures; /* while they are read; NULL: they are not */
        struct values values;
        char *results[VALUES_MAX + PICTURES_MAX]; /* JSON */
        size_t result_lens[VALUES_MAX + PICTURES_MAX];
        unsigned n_results;
        bool results_truncated;
        struct cella_err failure;
        uint32_t walls, missing;
        int audit_slot;
        const struct execution_events *events;
        void *context;
};

/* Makes an execution; takes the contents of *request, also on failure.  The caller holds a reference until
 * execution_release(). */
int execution_new(struct core *core, const struct caller *caller, struct core_sandbox *sandbox,
                  struct exec_request *request, const struct cella_limits *limits, enum execution_kind kind,
                  const struct execution_events *events, void *context, struct execution **ret,
                  struct cella_err *err);
/* Starts it.  All callbacks, including the last, may be made before the return. */
void execution_start(struct execution *ex);

/* Does the work that was deferred until the answers are sent: the log, the removal of sandboxes, new pool
 * members. */
void executions_settle(struct core *core);
/* Call when the sandbox is gone. */
void executions_forget_sandbox(const struct core_sandbox *sandbox);

/* Ends the callbacks and drops the client's reference. */
void execution_release(struct execution *ex);
void execution_ref(struct execution *ex);
void execution_unref(struct execution *ex);

void execution_cancel(struct execution *ex);
/* Sends SIGTERM because the daemon stops; the grace time applies. */
void execution_terminate(struct execution *ex);
/* Stops reading output until execution_continue(). */
void execution_wait(struct execution *ex);
void execution_continue(struct execution *ex);
int execution_signal(struct execution *ex, int signal);
/* Queues bytes for its standard input.  -ENOBUFS: too many are queued; -EPIPE: it is closed. */
int execution_feed(struct execution *ex, const char *data, size_t len, bool eof);

/* Whether it has ended and its result or failure is available. */
static inline bool execution_is_done(const struct execution *ex)
{
        return ex->phase == EXECUTION_DONE;
}

/* See struct core_hooks. */
unsigned executions_since(const struct core *core, int64_t since_us, unsigned max);
struct execution *execution_find(const struct core *core, const struct caller *caller, const char *id);
struct execution *execution_find_process(const struct core_sandbox *sandbox, int pid);
/* Adds it to the list of processes of the sandbox. */
void execution_keep_process(struct core_sandbox *sandbox, struct execution *ex);
void execution_forget_processes(struct core_sandbox *sandbox);
/* Returns {"id", "sandbox", "status": "running", …} for an active execution. */
json_t *execution_to_json(const struct execution *ex);
/* Returns its results; they point into ex. */
struct result_run execution_extra(const struct execution *ex);
/* Returns the result as JSON text, which the caller frees. */
char *execution_result_text(const struct execution *ex, unsigned flags, size_t *ret_len);
