/* core/execution/submit.h -- the only path from a request to an execution.
 *
 *  request -> admission -> scan that decides -> image -> sandbox -> limits -> execution
 *
 * Every front end that runs a command uses it and only translates its own protocol.  A request may wait for a
 * scan or an image.  If it is refused at any step, this module logs the refusal, removes a sandbox that it
 * made, and reports the error once. */
#pragma once
#include "core/execution/execution.h"
#include "core/request/admission.h"

struct image_wait;
struct submission;

struct submission_events {
        /* The execution was made and starts when this returns.  The callee may set its options, or call
         * execution_release() if it wants no events.  May be NULL. */
        void (*on_accepted)(struct submission *submission, struct execution *execution);
        /* Nothing was run, and the refusal was logged.  The last event.  The submission may be freed. */
        void (*on_refused)(struct submission *submission, const struct cella_err *err);
};

/* Part of the front end's own object.  The front end sets the first group; objects that it points to must
 * outlive the submission. */
struct submission {
        struct core *core;
        const struct caller *caller;
        struct core_sandbox *sandbox; /* NULL: the request names it, or a new one is made */
        bool sandbox_ignores_timeout; /* timeout_ms of the request limits the execution only */
        enum execution_kind kind;
        const struct submission_events *events;
        const struct execution_events *execution_events;
        void *context; /* for execution_events */

        /* Set by this module: */
        struct exec_request request; /* until the execution takes it */
        struct admission admission;
        struct image_wait *image;    /* NULL: not waiting for an image */
        struct execution *execution; /* NULL: not accepted yet */
};

/* Parses a document that was checked by a table of core/request/fields.c, and takes it.  On failure the
 * refusal was logged, and submission_start() must not be called. */
int submission_read(struct submission *submission, json_t *document, struct cella_err *err);
/* Starts.  All events, including the last, may come before the return. */
void submission_start(struct submission *submission);

/* The client has left: ends the wait or the execution.  No event follows. */
void submission_cancel(struct submission *submission);
/* The client has left; an accepted execution continues.  No event follows. */
void submission_detach(struct submission *submission);
