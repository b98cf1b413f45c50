/* keeper/process/server.h -- starts the server, with nothing it does not need. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "cella.h"

#define SERVER_KEEPER_FD 3   /* where it finds the socket to the keeper, see wire/keeper.h */
#define SERVER_LISTENER_FD 4 /* and the first listening socket */
#define SERVER_LISTENERS_MAX 2

struct server_setup {
        const char *program;
        char *const *argv;
        int keeper_socket; /* its end */
        const int *listeners;
        size_t n_listeners;
        int credential;   /* comes after them; -1: none */
        bool change_user; /* to these; else it stays who we are */
        unsigned uid, gid;
};

/* Forks and executes it.  Returns the pid, with its pidfd in *ret_pidfd, once the program runs;
 * or what went wrong. */
pid_t server_start(const struct server_setup *setup, int *ret_pidfd, struct cella_err *err);
