/* docker/place.h -- the directory in which containers find init and the socket to its owner.
 *
 *  HOME/OWNER/           one for each running cella-docker; OWNER is also a label of its containers
 *  HOME/OWNER/lock       locked while it runs, so that others recognize leftovers of a killed one
 *  HOME/OWNER/init       the program
 *  HOME/OWNER/resolv.conf   mounted in containers with a network
 *  HOME/OWNER/ID/        mounted in the sandbox's container: init, and the socket s; empty once init has
 *                        connected */
#pragma once
#include "base/id.h"
#include "cella.h"

#define PLACE_RESOLVER "resolv.conf"

struct place {
        const char *home;
        char owner[ID_SIZE];
        int dir;  /* HOME/OWNER */
        int lock; /* HOME/OWNER/lock */
};

int place_open(const char *home, struct place *ret, struct cella_err *err);
void place_close(struct place *place); /* removes everything except HOME */

/* Makes the directory of a sandbox, with the program in it. */
int place_make(const struct place *place, const char *id, struct cella_err *err);
/* Listens on the socket in it.  Returns the descriptor or -errno. */
int place_listen(const struct place *place, const char *id, struct cella_err *err);
/* Returns its path for the engine; with PLACE_RESOLVER instead of an id, the path of that file. */
int docker_place_path(const struct place *place, const char *id, char *ret, size_t size);
/* Removes the program and the socket, so that no other process can connect. */
void place_empty(const struct place *place, const char *id);
void place_remove(const struct place *place, const char *id);

/* Whether a cella-docker with this name runs. */
bool place_owner_lives(const char *home, const char *owner);
/* Removes the directories of those that do not run. */
void place_sweep(const struct place *place);
