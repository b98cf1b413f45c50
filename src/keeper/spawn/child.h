/* keeper/spawn/child.h -- starts one of Cella's programs with only what it needs: no privilege, descriptors,
 * environment variables or working directory of the caller, except those in child_setup.
 *
 * The program's main must do what the exec would undo: clear the dumpable flag and load the system call
 * filter. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cella.h"

#define CHILD_FIRST_FD 3 /* number of the first descriptor in the child */
#define CHILD_FDS_MAX 5
#define CHILD_ENV "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"

struct child_setup {
        int program;      /* opened by the caller: the child's user may have no access to the path */
        const char *path; /* path of the same program */
        /* Used instead of program and path: called in the child, to save the caller's time. */
        int (*open_program)(void);
        char *const *argv;
        const int *fds; /* become CHILD_FIRST_FD and following */
        size_t n_fds;
        char *const *env;  /* NULL: only PATH and LANG */
        bool keeps_stderr; /* otherwise stderr is /dev/null */
        bool change_user;  /* run as uid and gid; otherwise as the caller */
        unsigned uid, gid;
        uint32_t capabilities; /* bit mask of capabilities to keep, if the caller is root and has them; not
                                  with change_user */
};

struct child {
        pid_t pid;
        int pidfd;
        int failure; /* a struct failure if the child could not execute the program; end of file: it runs, or
                        is dead */
};
#define CHILD_NONE ((struct child){.pidfd = -1, .failure = -1})

/* Forks and does not wait for the exec.  The child is killed when the calling thread ends. */
int child_start(const struct child_setup *setup, struct child *ret, struct cella_err *err);

/* Like child_start(), with a new socket of this type (SOCK_SEQPACKET): one end is CHILD_FIRST_FD, before
 * setup->fds, *ret_socket is the other end. */
int child_start_linked(const struct child_setup *setup, int type, struct child *ret, int *ret_socket,
                       struct cella_err *err);

/* Waits until the program runs.  If it could not be started, returns the reason; the child is not reaped.
 * name: for the message. */
int child_confirm(struct child *child, const char *name, struct cella_err *err);

/* child_kill() kills the child, if there is one.  child_end() also reaps it and closes its descriptors. */
void child_kill(const struct child *child);
void child_end(struct child *child);
