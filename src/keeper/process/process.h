/* keeper/process/process.h -- the keeper process: the only privileged process of the daemon.
 *
 * One thread and one event loop.  It never blocks on another process and parses only packets of fixed
 * size. */
#pragma once
#include "cella.h"
#include "keeper/process/keeper.h"
#include <stddef.h>
#include <sys/types.h>

/* Runs until the server has ended, then ends all sandboxes.  Returns the exit status of the process. */
int keeper_run(const struct keeper_setup *setup);

/* Notifies the service manager, if there is one (sd_notify(3)).  state: "READY=1", "STOPPING=1".
 * notify_init() removes the manager's address from the environment, so that no child has it. */
void notify_init(void);
void notify(const char *state);

/* Descriptors of the server. */
#define SERVER_KEEPER_FD 3   /* the socket to the keeper, see wire/keeper.h */
#define SERVER_LISTENER_FD 4 /* the first listening socket */
#define SERVER_LISTENERS_MAX 2

struct server_setup {
        const char *program;
        char *const *argv;
        int keeper_socket; /* the server's end */
        const int *listeners;
        size_t n_listeners;
        int credential;   /* the descriptor after the listeners; -1: none */
        int tls;          /* the one after that; -1: none */
        bool change_user; /* to uid and gid; otherwise the user is not changed */
        unsigned uid, gid;
};

/* Starts the server with these descriptors only.  Returns its pid and pidfd when the program runs, or
 * -errno. */
pid_t server_start(const struct server_setup *setup, int *ret_pidfd, struct cella_err *err);
