/* core/pool/waiting.h -- interpreters that were started before their code was there.
 *
 * In a sandbox like any other, as its one command.  How it waits depends on the runtime; when it is
 * released it has become what the plain command would be.  What cannot be that way, because something
 * of the request belongs to how the interpreter starts, is told apart by waiting_fits(). */
#pragma once
#include "core/request/request.h"

enum waiting_kind {
        WAITING_NOT,      /* a sandbox that is ready, and nothing in it */
        WAITING_SHELL,    /* executed and linked, before its main() */
        WAITING_SCRIPT,   /* about to open its script */
        WAITING_TEMPLATE, /* restored from a template, about to open its script */
};

struct waiting_how {
        enum waiting_kind kind;
        char program[64];
        int template_fd; /* borrowed; -1: there is none */
        unsigned n_env;  /* variables that the image brings */
        char *modules;   /* borrowed: names that the template has imported, with spaces around; NULL: none */
};

/* How a runtime can wait; kind is WAITING_TEMPLATE also where none has been made yet. */
void waiting_how(const char *runtime, struct waiting_how *ret);

/* Whether this request can be served so: in a sandbox of its own, with a private workspace. */
bool waiting_fits(const struct waiting_how *how, const struct exec_request *request);

/* Asks init to start it.  *ret_control is our end of its socket; the caller closes it. */
int waiting_spawn(struct core_sandbox *sandbox, uint32_t tag, const struct waiting_how *how, int *ret_control,
                  struct cella_err *err);
/* The same for one that becomes a template, written to template_fd. */
int waiting_spawn_maker(struct core_sandbox *sandbox, uint32_t tag, const char *program, int template_fd,
                        const json_t *preload, int *ret_control, struct cella_err *err);
/* Restores one from its template for code that is there already, with these descriptors, which are taken also
 * when it fails.  *ret_control is a file then: see release.h.  Only where it is asked for, init tells that it
 * has started. */
int waiting_spawn_released(struct core_sandbox *sandbox, uint32_t tag, const struct waiting_how *how,
                           const struct exec_request *request, bool tell_started, int fds[3],
                           int *ret_control, struct cella_err *err);

/* Gives it its code and its descriptors, which are taken. */
int waiting_release(int control, const struct waiting_how *how, const struct exec_request *request,
                    const struct core_sandbox *sandbox, int fds[3], struct cella_err *err);
/* Whether it has said that it waits (file: it was spawned released), and what CPU time it had used by then;
 * it may have said so again when it had got ready in earnest.  *ret_unread: it has ended without taking its
 * release, or not all of it. */
bool waiting_said(int control, bool file, uint64_t *ret_cpu_us, bool *ret_unread);
/* It is going to be next. */
void waiting_soon(int control);
/* Makes it the driver of a context (driver.h), which keeps the socket and what descriptors it has. */
int waiting_release_driver(int control, bool network);
/* The program that restores a template, a new file each time; the caller closes it. */
int waiting_restore_make(void);

/* What a file's script is called there; NULL: the runtime's code is no file. */
const char *waiting_script(const struct waiting_how *how);
