/* docker/setup.h -- what cella-docker was started with. */
#pragma once
#include <stdbool.h>

#include "wire/docker.h"

/* Its arguments; NULL where there was none. */
struct setup {
        const char *home; /* --home DIR: where it keeps init and the sockets of sandboxes; the same for all
                           * that this user starts */
        const char *host; /* --host: what DOCKER_HOST said */
        const char *runtime_dir; /* --runtime-dir: what XDG_RUNTIME_DIR said */
        const char *transport;   /* --transport: socket or attach, where the settings leave it to us */
        const char *whose;       /* --for server: who asks may have less than the user that started us */
};
