/* docker/sandbox.h -- the table of sandboxes, by handle.
 *
 * The loop and the jobs use them concurrently.  A sandbox is freed when its last reference is released. */
#pragma once
#include <pthread.h>

#include "docker/reply.h"
#include "docker/usage.h"
#include "wire/docker.h"

struct docker_sandbox {
        uint32_t handle;
        unsigned holders;
        char id[32];
        char container[REPLY_ID_MAX];
        char socket[DOCKER_SOCKET_MAX]; /* of the engine that made it */
        int pidfd;                      /* of init; -1: its process is not visible from here */
        int control;                    /* to init, which exits when it is shut down; -1: none */
        struct usage usage;
        uint32_t processes_beside, processes_least; /* in the group: besides those of the limit; at least */
        pthread_mutex_t lock;                       /* protects the following members */
        struct keeper_counted last;                 /* the last reading */
        bool inspected;                             /* after its death: the engine was asked for its state */
};

/* Makes a sandbox with one reference, which is not in the table. */
struct docker_sandbox *docker_sandbox_alloc(const char *id, const char *container, const char *socket);
/* Adds it to the table, which assigns its handle.  Returns 0 or -EUSERS. */
int docker_sandbox_add(struct docker_sandbox *sandbox);
/* Returns the sandbox with this handle and a new reference; NULL: none. */
struct docker_sandbox *docker_sandbox_hold(uint32_t handle);
/* Likewise, and removes it from the table. */
struct docker_sandbox *docker_sandbox_take(uint32_t handle);
struct docker_sandbox *docker_sandbox_take_any(void); /* NULL: the table is empty */
void docker_sandbox_release(struct docker_sandbox *sandbox);

bool docker_sandbox_is_dead(const struct docker_sandbox *sandbox);

/* Asks init to exit, which ends all processes.  Returns true if they have ended in time. */
bool docker_sandbox_let_go(const struct docker_sandbox *sandbox);
