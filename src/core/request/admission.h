/* core/request/admission.h -- decides whether a request may run, and where, before a sandbox is chosen.
 *
 *  runtime -> secrets -> host or sandbox -> scan that may refuse the code
 *
 * Executions, runs in contexts and execute_python use it: there is no other path to code that runs.  After it
 * the log contains no secret values. */
#pragma once
#include "core/request/request.h"

enum admission_target {
        ADMIT_TO_ANY, /* the request decides: the host, or the sandbox that exec_request_sandbox() returns */
        ADMIT_TO_SANDBOX, /* a sandbox that exists */
        ADMIT_TO_CONTEXT, /* a context that exists: the request has its runtime */
};

/* Part of the caller's own object.  The caller sets the first group; the objects that it points to must exist
 * until the decision. */
struct admission {
        struct core *core;
        const struct caller *caller;
        struct exec_request *request;
        enum admission_target target;
        bool scan_during_start; /* execution_start() scans long code, if request->scan_first is set */
        scan_decided *decided;
        void *context; /* of decided */

        /* Set by this module: */
        bool choose;           /* the scan decides between host and sandbox */
        struct scan_job *scan; /* NULL: no worker scans the code */
};

/* Returns 1 if the request is admitted, -errno with *err if it is refused, or 0 if a worker scans the code:
 * then decided() is called later, once. */
int admission_begin(struct admission *admission, struct cella_err *err);
/* decided() is not called any more.  Also allowed when no scan is active. */
void admission_cancel(struct admission *admission);
