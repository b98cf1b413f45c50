/* docker/setup.h -- the arguments of cella-docker. */
#pragma once
#include <stdbool.h>

#include "wire/docker.h"

/* NULL: not given. */
struct setup {
        const char *home;        /* --home DIR: directory for init and the sockets of sandboxes; shared by all
                                    processes of this user */
        const char *host;        /* --host: value of DOCKER_HOST */
        const char *runtime_dir; /* --runtime-dir: value of XDG_RUNTIME_DIR */
        const char *transport;   /* --transport: socket or attach, if the settings do not decide */
        const char *state;       /* --state: the daemon's state directory, which is never mounted */
        const char *pin;         /* --workspace-root: see struct workspace_policy */
        const char *only;        /* --workspace: see struct workspace_policy */
        const char *client;      /* --for server: the client has fewer rights than the user that started us */
};
