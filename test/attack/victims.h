/* victims.h -- the targets of the attacks: objects of the host that hold a secret.
 *
 * All are open to every user of the host, so that nothing but the walls hides them. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

struct victims {
        char nonce[33];
        char dir[64];       /* a new directory below /tmp with the files below */
        char program[128];  /* a copy of cella-attacks */
        char file[128];     /* the secret */
        char tray[128];     /* a directory that is shown to the sandboxes */
        char private[160];  /* a file in it that only another user may read */
        char link[160];     /* in it: a symbolic link to the secret */
        char socket[128];   /* listens */
        char shm_file[64];  /* in /dev/shm */
        char abstract[64];  /* listens */
        char queue[64];     /* without the slash */
        char terminal[64];  /* "": there are none here */
        char host_name[65]; /* of this machine */
        int fd, dir_fd;     /* inherited by a child that does not close them */
        int listeners[3];
        int master; /* of the terminal */
        int shm_id;
        int shm_key;
        pid_t process;
        unsigned port;
        uint64_t pid_ns;
};

/* Says on stderr what it could not place, and returns -errno; then victims_remove()
 * takes back the rest.  Takes over the process's umask and environment. */
int victims_place(struct victims *v, const char *program);

/* Safe in a signal handler. */
void victims_remove(struct victims *v);

/* What the victim process runs: the runner itself, with one argument. */
#define VICTIM_ARGUMENT "--victim"
_Noreturn void victim_main(void);
