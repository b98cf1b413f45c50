/* core/request/request.h -- a parsed request to run code, and the decisions about it. */
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

/* Strings point into the document or into `owned`. */
struct exec_request {
        json_t *document;
        const char *runtime, *code;
        const char *image; /* NULL: not given */
        int engine;        /* enum engine_choice; -1: not given */
        size_t code_len;
        const char **argv;          /* NULL-terminated; the command, or further arguments of the runtime */
        const char **env;           /* NULL-terminated NAME=value; includes secrets once they are granted */
        const json_t *secrets;      /* handles by variable; NULL: none */
        struct secret_grant *grant; /* their values; NULL: none */
        const json_t *allowed_imports; /* NULL: all */
        /* Decided by the admission: */
        bool direct;                     /* runs on the host */
        char reason[128];                /* why on the host or in a sandbox; "": the mode leaves no choice */
        bool scan_first;                 /* a worker must scan and allow it before it starts */
        bool scanned;                    /* it needs no (further) scan */
        unsigned risky;                  /* verdict of a scan that decides */
        bool unknown_command;            /* part of the same report */
        struct scan_report *report;      /* the report for the result; NULL: none */
        char imports[SCAN_IMPORTS_SIZE]; /* of a scan: see struct scan_report */
        const char *cwd;
        const char *input; /* for standard input */
        size_t input_len;
        struct put_file *files;
        size_t n_files;
        bool base64, kill_on_output_limit, detach, list_files;
        bool rich; /* the value of the last expression, and pictures that the code writes, are results */
        const char *language; /* named in the request: `runtime` and `image` are the settings' for it */
        const char *session, *agent;
        char trace[CALLER_TRACE_SIZE]; /* for the log, from the caller */
        int scope;                     /* enum sandbox_scope; -1: not given */
        bool isolated;                 /* never on the host, whatever the mode is */
        bool lasting;                  /* its sandbox is not ended with the first execution */
        bool renewed;  /* its sandbox was made again for changed settings; `reason` says which */
        int workspace; /* enum workspace_access; -1: not given */
        const json_t *limits;
        uint64_t timeout_ms;   /* 0: not given */
        const json_t *network; /* NULL: not given */
        const json_t *mounts;  /* NULL: not given */
        /* For the log: the code, or the command as JSON. */
        char *log_input;
        size_t log_input_len;
        char **owned;
        size_t n_owned;
};

const struct field *exec_fields(void);          /* POST /v1/exec */
const struct field *sandbox_exec_fields(void);  /* POST /v1/sandboxes/{id}/exec and …/processes */
const struct field *sandbox_fields(void);       /* POST /v1/sandboxes */
const struct field *sandbox_patch_fields(void); /* PATCH /v1/sandboxes/{id} */
const struct field *lease_fields(void);         /* POST /v1/pools/acquire */
/* Checks the paths of `files`: {"path": content}; for the tables of requests and tools. */
int request_files_check(const json_t *value, const char *path, struct cella_err *err);

/* Takes the document, which was checked by one of the first two tables. */
int exec_request_from(json_t *document, struct exec_request *ret, struct cella_err *err);
void exec_request_done(struct exec_request *request);
/* Whether the value of the last expression is a result: `rich`, for runtimes whose contexts return values. */
bool exec_request_wants_value(const struct exec_request *request);

/* The part of the admission about the runtime: replaces its name according to the settings, and, if
 * exec_request_sandbox() will choose the sandbox (own), sets the image. */
int exec_request_runtime(const struct core *core, struct exec_request *request, bool own,
                         struct cella_err *err);
/* runtime_standard() returns the runtime that the settings define for a name.  runtime_program() returns the
 * program that they define for it in this image, or NULL.  Both return strings of the settings or the name
 * itself. */
const char *runtime_standard(const struct core *core, const char *name);
const char *runtime_program(const struct core *core, const char *runtime, const char *image);
/* Stores data, to be freed with the request; frees it at once on failure.  Returns 0 or -ENOMEM, also for
 * NULL. */
int exec_request_own(struct exec_request *request, char *data);
/* The part of the admission about secrets: opens those that the request names, if the caller may use them
 * all. Masks them in the text for the log. */
int exec_request_grant(struct core *core, const struct caller *caller, struct exec_request *request,
                       struct cella_err *err);

/* ---- the scanner, see scan.c ---- */
#define SCAN_AT_ONCE 256        /* bytes that are scanned in the event loop; a worker scans longer code */
#define SCAN_AT_ONCE_US 1000    /* a worker also scans code that takes more CPU time */
#define SCAN_SELECTIVE_MAX 8192 /* mode "selective" runs longer code in a sandbox */
#define SCAN_ADVICE_MAX (256u << 10) /* longer code is not scanned for advice */
#define SCAN_ADVICE_MS 1000          /* time limit of a scan for advice */

/* The input of a scan.  Borrowed from the request. */
struct scan_request {
        enum scan_language language;
        const char *text;
        size_t len;
        const json_t *allowed_imports; /* NULL: all */
};
struct scan_request exec_request_scan_request(const struct exec_request *request);
/* Runs a scan.  May be called in any thread. */
int scan_request_run(const struct scan_request *request, const struct scan_limits *limits,
                     struct scan_report *ret);

enum scan_language exec_request_language(const struct exec_request *request);
/* Whether a scan may refuse this request. */
bool exec_request_may_refuse(const struct core *core, const struct exec_request *request);
/* Handles the result of a scan that decides.  scanned: 0 or -errno.  Returns an error if the request is
 * refused. */
int exec_request_decide(const struct core *core, struct exec_request *request, int scanned,
                        const struct scan_report *report, struct cella_err *err);
/* Scans short code at once, and decides.  Returns 1 if it is allowed, 0 if a worker must scan it, -errno if
 * it is refused. */
int exec_request_scan_now(const struct core *core, struct exec_request *request, struct cella_err *err);
struct scan_job;
typedef void scan_decided(void *context, int r, struct cella_err *err); /* r: 0 or -errno, with *err */
/* Call when the code has started: scans short code for advice, and reports a skipped scan for too long code.
 * Returns true if a worker must scan it. */
bool exec_request_warn(const struct core *core, struct exec_request *request);
/* Returns the fields of a result: runtime, where it ran and why, findings.  Borrows isolation and request. */
struct result_about exec_request_about(const struct exec_request *request,
                                       const struct cella_isolation *isolation);
void exec_request_keep_report(struct exec_request *request, const struct scan_report *report);

/* Returns which executions it shares a sandbox with: as requested, else as in the settings, else (if they say
 * "execution") as the given names suggest. */
enum sandbox_scope exec_request_scope(const struct core *core, const struct exec_request *request);
/* Sets its scope, and the names that scope and workspace need and the request does not give, from the caller.
 * Fails if the scope needs a name that neither has. */
int exec_request_identify(const struct core *core, const struct caller *caller, struct exec_request *request,
                          struct cella_err *err);
/* Returns the mask for its secrets; NULL: none. */
struct mask *exec_request_mask(const struct exec_request *request);
/* Returns `command` with secrets masked, as a new reference; NULL: none. */
json_t *exec_request_command(const struct exec_request *request);

/* Finds the image of its sandbox, see image_want(): returns 1 if it is available, 0 if events->on_end
 * follows.  Call after the admission. */
enum engine_choice exec_request_engine(const struct core *core, const struct exec_request *request);
struct image_events;
struct image_wait;
int exec_request_image(struct core *core, const struct caller *caller, const struct exec_request *request,
                       const struct image_events *events, void *context, struct image_wait **ret,
                       struct cella_err *err);

int sandbox_request_image(struct core *core, const struct caller *caller, const json_t *document,
                          const struct image_events *events, void *context, struct image_wait **ret,
                          struct cella_err *err);

/* Returns the sandbox for this request: that of its scope, or a new one.  Call after
 * exec_request_identify(). */
int exec_request_sandbox(struct core *core, const struct caller *caller, const struct exec_request *request,
                         struct core_sandbox **ret, struct cella_err *err);
/* Moves the note of the sandbox, if any, to the result of this request. */
void exec_request_take_note(struct exec_request *request, struct core_sandbox *sandbox);
/* Computes the limits of one execution in a sandbox: those of the sandbox, narrowed.  Fails if the request
 * changes something that belongs to the sandbox, such as the network. */
int exec_request_limits(const struct exec_request *request, const struct core_sandbox *sandbox,
                        struct cella_limits *ret, struct cella_err *err);
/* Computes the limits that sandbox_change_limits() gives a sandbox: its own, with the asked ones, which must
 * be within those of the key.  *ret_required: the CELLA_LIMIT_* that were asked for. */
int limits_request(const struct caller *caller, const json_t *asked, const struct core_sandbox *sandbox,
                   struct cella_limits *ret, uint32_t *ret_required, struct cella_err *err);
/* Makes a sandbox for POST /v1/sandboxes. */
int sandbox_request(struct core *core, const struct caller *caller, const json_t *document,
                    struct core_sandbox **ret, struct cella_err *err);
/* Leases a sandbox for POST /v1/pools/acquire. */
int lease_request(struct core *core, const struct caller *caller, const json_t *document,
                  struct core_sandbox **ret, struct cella_err *err);
