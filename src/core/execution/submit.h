/* core/execution/submit.h -- the one path from a request to an execution.
 *
 *   request -> admission -> scan that decides -> image -> sandbox -> limits -> execution
 *
 * Every front end that runs a command uses it and only translates its own protocol.  A request may have to
 * wait for a scan or for an image on the way.  If it is refused at any step, this module writes the row
 * "refused" into the log, removes the sandbox that it made, and reports the error once. */
#pragma once
#include "core/execution/execution.h"

struct image_wait;
struct submission;

struct submission_events {
        /* The execution was made and starts when this returns.  The callee may set options of it, or call
         * execution_release() if it wants no events.  May be NULL. */
        void (*on_accepted)(struct submission *submission, struct execution *execution);
        /* Nothing was run and the log has the refusal.  The last event.  The submission may be freed. */
        void (*on_refused)(struct submission *submission, const struct cella_err *err);
};

/* Part of the front end's own object.  The front end fills in the first group; what it points to must live as
 * long as the submission. */
struct submission {
        struct core *core;
        const struct caller *caller;
        struct core_sandbox *sandbox; /* NULL: the request says which, or a new one is made */
        bool sandbox_ignores_timeout; /* timeout_ms of the request limits the execution only */
        enum execution_kind kind;
        const struct submission_events *events;
        const struct execution_events *execution_events;
        void *context; /* for execution_events */

        /* Set by this module: */
        struct exec_request request; /* until the execution takes it */
        struct scan_job *scan;       /* NULL: it does not wait for a scan */
        struct image_wait *image;    /* NULL: it does not wait for an image */
        struct execution *execution; /* NULL: not accepted yet */
};

/* Reads a document that was checked by a table of core/request/fields.c, and takes it.  On failure the
 * refusal is in the log, and submission_start() must not be called. */
int submission_read(struct submission *submission, json_t *document, struct cella_err *err);
/* Starts.  Every event may come from within this call, the last one too. */
void submission_start(struct submission *submission);

/* The client has left: ends the wait or the execution.  No event follows. */
void submission_cancel(struct submission *submission);
/* The client has left, and an execution that was accepted goes on.  No event follows. */
void submission_detach(struct submission *submission);
