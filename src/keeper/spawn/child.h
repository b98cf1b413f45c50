/* keeper/spawn/child.h -- starts a program of ours with nothing it does not need: no privilege, no
 * descriptor, no variable, nobody's working directory.
 *
 * What cannot be done here because the exec would undo it is for the program's own main: not to be dumpable,
 * and its system call filter. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cella.h"

#define CHILD_FIRST_FD 3 /* where it finds the first of its descriptors */
#define CHILD_FDS_MAX 5
#define CHILD_ENV "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"

struct child_setup {
        int program;      /* opened while we may: it can be where the child's user cannot go */
        const char *path; /* the same by name */
        /* Or, instead of both, done by the child while it may: who starts it has no time for that. */
        int (*open_program)(void);
        char *const *argv;
        const int *fds; /* from CHILD_FIRST_FD on */
        size_t n_fds;
        char *const *env;  /* NULL: PATH and LANG, nothing of our own */
        bool keeps_stderr; /* else it has /dev/null there, too */
        bool change_user;  /* to these; else it stays who we are */
        unsigned uid, gid;
        uint32_t capabilities; /* that it keeps, by number, if we are root and have them; not with change_user
                                */
};

struct child {
        pid_t pid;
        int pidfd;
        int failure; /* what it could not do before it ran is readable here; the end: it runs, or is dead */
};
#define CHILD_NONE ((struct child){.pidfd = -1, .failure = -1})

/* Forks, and does not wait for the exec.  It dies with the calling thread. */
int child_start(const struct child_setup *setup, struct child *ret, struct cella_err *err);

/* Waits until it runs, or says why it does not; it is not reaped then.  name: for the message. */
int child_confirm(struct child *child, const char *name, struct cella_err *err);

/* Kills it, if there is one; and reaps it. */
void child_kill(const struct child *child);
void child_end(struct child *child);
