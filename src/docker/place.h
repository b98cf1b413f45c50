/* docker/place.h -- the directory where containers find init and the socket to its owner.
 *
 *      HOME/OWNER/           one for each cella-docker that runs; OWNER is also a label of its containers
 *      HOME/OWNER/lock       locked while it lives: so others tell what a killed one left behind
 *      HOME/OWNER/init       the program
 *      HOME/OWNER/resolv.conf   shown in containers that have a network
 *      HOME/OWNER/ID/        shown in the sandbox's container: init, and s, the socket; empty once init has
 *                            come */
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
void place_close(struct place *place); /* nothing is left of it, but HOME */

/* Makes the directory of a sandbox, with the program in it. */
int place_make(const struct place *place, const char *id, struct cella_err *err);
/* Listens there.  Returns the socket. */
int place_listen(const struct place *place, const char *id, struct cella_err *err);
/* Its path, for the engine; or with PLACE_RESOLVER instead of an id, that file's. */
int place_path(const struct place *place, const char *id, char *ret, size_t size);
/* Nobody else gets in. */
void place_empty(const struct place *place, const char *id);
void place_remove(const struct place *place, const char *id);

/* Whether a cella-docker of that name lives. */
bool place_owner_lives(const char *home, const char *owner);
/* Removes the directories of those that do not. */
void place_sweep(const struct place *place);
