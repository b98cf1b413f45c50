/* core/request/request.h -- what a request to run something asks for: checked, and made sense of. */
#pragma once
#include "core/core.h"
#include "core/sandbox/sandbox.h"
#include "engine/result.h"
#include "scan/scan.h"
#include "secret/grant.h"

struct put_file {
        const char *path;
        const char *data;
        size_t len;
};

/* Strings point into the document, or into what `owned` holds. */
struct exec_request {
        json_t *document;
        const char *runtime, *code;
        const char *image; /* NULL: not said */
        int engine;        /* enum engine_choice; -1: not said */
        size_t code_len;
        const char **argv;     /* NULL-terminated; the command, or further arguments of the runtime */
        const char **env;      /* NULL-terminated NAME=value; those of secrets too, once they are granted */
        const json_t *secrets; /* handles by variable; NULL: none */
        struct secret_grant *grant;    /* what they stand for; NULL: nothing */
        const json_t *allowed_imports; /* NULL: all */
        /* Decided by exec_request_admit(): */
        bool direct;          /* runs on the host */
        char reason[128];     /* why there or in a sandbox; "": the mode leaves no choice */
        bool scan_first;      /* it may begin only when a worker has scanned it and it was not refused */
        bool scanned;         /* it needs no scan, or no further one */
        unsigned risky;       /* the verdict of a scan that decides */
        bool unknown_command; /* and this part of its report */
        struct scan_report *report; /* what is to be told; NULL: nothing */
        const char *cwd;
        const char *input; /* for standard input */
        size_t input_len;
        struct put_file *files;
        size_t n_files;
        bool base64, kill_on_output_limit, detach, list_files;
        const char *session, *agent;
        int scope;     /* enum sandbox_scope; -1: not said */
        int workspace; /* enum workspace_access; -1: not said */
        const json_t *limits;
        uint64_t timeout_ms;   /* 0: not said */
        const json_t *network; /* NULL: not said */
        /* For the log: the code, or the command as JSON. */
        char *log_input;
        size_t log_input_len;
        char **owned;
        size_t n_owned;
};

const struct field *exec_fields(void);         /* POST /v1/exec */
const struct field *sandbox_exec_fields(void); /* POST /v1/sandboxes/{id}/exec and …/processes */
const struct field *sandbox_fields(void);      /* POST /v1/sandboxes */

/* Takes the document, which was checked by one of the first two tables. */
int exec_request_from(json_t *document, struct exec_request *ret, struct cella_err *err);
void exec_request_done(struct exec_request *request);

/* Whether it may be run, and how; before a sandbox is looked for.  Opens the secrets that it names, if this
 * caller may use them all; decides between host and sandbox (own: exec_request_sandbox() is going to find it
 * one); asks the scanner where it may refuse.  The log gets no value of a secret from then on.
 * 1 (only with own): a worker must scan the code first (scan_job.h); then exec_request_decide() and
 * exec_request_choose() decide. */
int exec_request_admit(struct core *core, const struct caller *caller, struct exec_request *request, bool own,
                       struct cella_err *err);
/* Host or sandbox, by the mode. */
int exec_request_choose(const struct core *core, const struct caller *caller, struct exec_request *request,
                        struct cella_err *err);
/* Its part about the runtime: what the settings make of its name, and the image it is in. */
int exec_request_runtime(const struct core *core, struct exec_request *request, bool own,
                         struct cella_err *err);
/* What a runtime stands for by the settings; and the program that they name for it where this image is, or
 * NULL. Both are theirs, or the name itself. */
const char *runtime_standard(const struct core *core, const char *name);
const char *runtime_program(const struct core *core, const char *runtime, const char *image);
/* Keeps data, which it frees in the end; or at once, with -ENOMEM.  NULL is -ENOMEM, too. */
int exec_request_own(struct exec_request *request, char *data);
/* Its part about secrets. */
int exec_request_grant(struct core *core, const struct caller *caller, struct exec_request *request,
                       struct cella_err *err);

/* ---- the scanner, see request_scan.c ---- */
#define SCAN_AT_ONCE 1024       /* bytes that are scanned in the event loop; a worker scans what is longer, */
#define SCAN_AT_ONCE_US 1000    /* or takes more CPU time than this */
#define SCAN_SELECTIVE_MAX 8192 /* mode "selective" runs longer code in a sandbox */
#define SCAN_ADVICE_MAX (256u << 10) /* longer code is not scanned for advice, */
#define SCAN_ADVICE_MS 1000          /* and no longer than this */

/* What the scanner needs of a request.  Borrows it. */
struct scan_request {
        enum scan_language language;
        const char *text;
        size_t len;
        const json_t *allowed_imports; /* NULL: all */
};
struct scan_request exec_request_scan_request(const struct exec_request *request);
/* May be called in any thread. */
int scan_request_run(const struct scan_request *request, const struct scan_limits *limits,
                     struct scan_report *ret);

enum scan_language exec_request_language(const struct exec_request *request);
/* Whether a scan may refuse this request. */
bool exec_request_may_refuse(const struct core *core, const struct exec_request *request);
/* Takes the result of a scan that decides: scanned is 0 or -errno.  The error if the request is refused. */
int exec_request_decide(const struct core *core, struct exec_request *request, int scanned,
                        const struct scan_report *report, struct cella_err *err);
/* For requests that become no execution.  1: it is allowed, or no scan may refuse it; negative: it is
 * refused; 0: a worker scans it.  done() then passes what it gets to exec_request_decide(). */
struct scan_job;
int exec_request_scan_first(struct core *core, struct exec_request *request,
                            void (*done)(void *context, int r, const struct scan_report *report),
                            void *context, struct scan_job **ret, struct cella_err *err);
/* Its code runs now: scans it for advice if it is short, and reports that it is skipped if it is too long.
 * True: a worker must scan it. */
bool exec_request_warn(const struct core *core, struct exec_request *request);
/* For a result: its runtime, where it ran and why, what was found.  isolation is borrowed, as the request is.
 */
struct result_about exec_request_about(const struct exec_request *request,
                                       const struct cella_isolation *isolation);
void exec_request_keep_report(struct exec_request *request, const struct scan_report *report);

/* Which executions it shares a sandbox with. */
enum sandbox_scope exec_request_scope(const struct core *core, const struct exec_request *request);
/* The mask for what it says; NULL: there is nothing to hide. */
struct mask *exec_request_mask(const struct exec_request *request);
/* `command` as others may see it: a new reference; NULL: it has none. */
json_t *exec_request_command(const struct exec_request *request);

/* The image that its sandbox is going to be made of, see image_want(): 1 is there, 0 is on its way and
 * events->on_end comes.  After exec_request_admit(). */
enum engine_choice exec_request_engine(const struct core *core, const struct exec_request *request);
struct image_events;
struct image_wait;
int exec_request_image(struct core *core, const struct caller *caller, const struct exec_request *request,
                       const struct image_events *events, void *context, struct image_wait **ret,
                       struct cella_err *err);

int sandbox_request_image(struct core *core, const struct caller *caller, const json_t *document,
                          const struct image_events *events, void *context, struct image_wait **ret,
                          struct cella_err *err);

/* The sandbox that this request is for: its scope's, or a fresh one. */
int exec_request_sandbox(struct core *core, const struct caller *caller, const struct exec_request *request,
                         struct core_sandbox **ret, struct cella_err *err);
/* The limits of one execution in a sandbox: its own, narrowed.  What cannot be an execution's own, as the
 * network, has to be the sandbox's. */
int exec_request_limits(const struct exec_request *request, const struct core_sandbox *sandbox,
                        struct cella_limits *ret, struct cella_err *err);
/* POST /v1/sandboxes. */
int sandbox_request(struct core *core, const struct caller *caller, const json_t *document,
                    struct core_sandbox **ret, struct cella_err *err);
