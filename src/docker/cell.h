/* docker/cell.h -- the sandboxes there are, by handle; and who is told about them.
 *
 * The loop and the jobs use them at once.  A cell lives until nobody holds it and it was dropped. */
#pragma once
#include <pthread.h>

#include "docker/reply.h"
#include "docker/usage.h"
#include "wire/docker.h"

struct cell {
        uint32_t handle;
        unsigned holders;
        char id[32];
        char container[REPLY_ID_MAX];
        char socket[DOCKER_SOCKET_MAX]; /* of the engine that made it */
        int pidfd;                      /* of init; -1: its process cannot be seen from here */
        int control;                    /* to init, whose end it is when we shut it; -1 */
        struct usage usage;
        pthread_mutex_t lock;       /* for what follows */
        struct keeper_counted last; /* as last read */
        bool inspected;             /* after its death: the engine said what it knows */
};

/* A new one, not in the table yet; held. */
struct cell *cell_new(const char *id, const char *container, const char *socket);
/* Puts it into the table, which gives it its handle.  -EUSERS. */
int cell_add(struct cell *cell);
/* The one with this handle, held; NULL: there is none. */
struct cell *cell_hold(uint32_t handle);
/* The same, and it is not found again. */
struct cell *cell_take(uint32_t handle);
struct cell *cell_take_any(void); /* NULL: there is none any more */
void cell_release(struct cell *cell);

bool cell_is_dead(const struct cell *cell);

/* Tells init to go, and with it everything; true when it has. */
bool cell_let_go(const struct cell *cell);
