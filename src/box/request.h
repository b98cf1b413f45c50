/* box/request.h -- what a request to run something asks for: checked, and made sense of. */
#pragma once
#include "box/box.h"
#include "box/sandbox.h"

struct put_file {
        const char *path;
        const char *data;
        size_t len;
};

/* Strings point into the document, or into what `owned` holds. */
struct exec_request {
        json_t *document;
        const char *runtime, *code;
        size_t code_len;
        const char **argv; /* NULL-terminated; the command, or further arguments of the runtime */
        const char **env;  /* NULL-terminated NAME=value */
        const char *cwd;
        const char *input; /* for standard input */
        size_t input_len;
        struct put_file *files;
        size_t n_files;
        bool base64, kill_on_output_limit, detach, list_files;
        const char *session, *agent;
        int scope;     /* enum box_scope; -1: not said */
        int workspace; /* enum box_workspace; -1: not said */
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

/* The sandbox that this request is for: its scope's, or a fresh one. */
int exec_request_sandbox(struct box *box, const struct caller *caller, const struct exec_request *request,
                         struct box_sandbox **ret, struct cella_err *err);
/* The limits of one execution in a sandbox: its own, narrowed.  What cannot be an execution's own, as the
 * network, has to be the sandbox's. */
int exec_request_limits(const struct exec_request *request, const struct box_sandbox *sandbox,
                        struct cella_limits *ret, struct cella_err *err);
/* POST /v1/sandboxes. */
int sandbox_request(struct box *box, const struct caller *caller, const json_t *document,
                    struct box_sandbox **ret, struct cella_err *err);
