/* core/pool/waiting.h -- interpreters that are started before their code is known.
 *
 * The interpreter is the only command of an ordinary sandbox.  How it waits depends on the runtime; after its
 * release it behaves like the normal command.  waiting_fits() recognizes requests for which this is
 * impossible, because they affect the start of the interpreter. */
#pragma once
#include "core/request/request.h"

enum waiting_kind {
        WAITING_NOT,      /* a ready sandbox without an interpreter */
        WAITING_SHELL,    /* executed and linked, stopped before main() */
        WAITING_SCRIPT,   /* about to open its script */
        WAITING_TEMPLATE, /* restored from a template, about to open its script */
};

struct waiting_how {
        enum waiting_kind kind;
        char program[64];
        int template_fd; /* borrowed; -1: none */
        unsigned n_env;  /* number of variables of the image */
        bool bare;       /* Node: load nothing before the script */
        char *modules;   /* borrowed: names of imported modules with spaces around; NULL: none */
};

/* Returns how a runtime can wait; WAITING_TEMPLATE also if no template exists yet. */
void waiting_how(const char *runtime, struct waiting_how *ret);

/* Whether this request can be served by it, in a sandbox of its own with a private workspace. */
bool waiting_fits(const struct waiting_how *how, const struct exec_request *request);

/* Asks init to start it.  *ret_control: the server's end of its socket, owned by the caller. */
int waiting_spawn(struct core_sandbox *sandbox, uint32_t tag, const struct waiting_how *how, int *ret_control,
                  struct cella_err *err);
/* Likewise for one that becomes a template, written to template_fd. */
int waiting_spawn_maker(struct core_sandbox *sandbox, uint32_t tag, const char *program, int template_fd,
                        const json_t *preload, int *ret_control, struct cella_err *err);
/* Restores an interpreter from its template for known code, with these descriptors, which are taken also on
 * failure.  *ret_control is a file: see release.h.  init reports the start only if tell_started is set. */
int waiting_spawn_released(struct core_sandbox *sandbox, uint32_t tag, const struct waiting_how *how,
                           const struct exec_request *request, bool tell_started, int fds[3],
                           int *ret_control, struct cella_err *err);

/* Sends it the code and the descriptors, which are taken. */
int waiting_release(int control, const struct waiting_how *how, const struct exec_request *request,
                    const struct core_sandbox *sandbox, int fds[3], struct cella_err *err);
/* Whether it has reported that it waits, and its CPU time until then; it may report again after
 * waiting_soon().  file: it was started by waiting_spawn_released().  *ret_unread: it has ended without
 * reading the complete release. */
bool waiting_said(int control, bool file, uint64_t *ret_cpu_us, bool *ret_unread);
/* Asks it to prepare fully, because it will be used next. */
void waiting_soon(int control);
/* Makes it the driver of a context (driver.h) in this sandbox, which keeps the socket and its descriptors. */
int waiting_release_driver(int control, const struct core_sandbox *sandbox);
/* Returns a new file with the program that restores a template; the caller closes it. */
int waiting_restore_make(void);

/* Returns the file name of the script; NULL: the code is not a file. */
const char *waiting_script(const struct waiting_how *how);
