/* keeper/process/cells.h -- the sandboxes the keeper has, by handle.
 *
 * A handle is a place and how often the place was used: an old one finds nothing, until four
 * thousand million sandboxes later. */
#pragma once
#include <stdint.h>

#include "keeper/spawn/sandbox.h"
#include "wire/keeper.h"

enum cell_state {
        CELL_FREE = 0,
        CELL_LIVE = 1u << 0,
        CELL_FREEZING = 1u << 1, /* the answer waits until nothing runs any more */
        CELL_FROZEN = 1u << 2,
        CELL_DEAD = 1u << 3,   /* its init is gone, and reaped */
        CELL_ENDING = 1u << 4, /* the answer waits for its death */
        CELL_LOST = 1u << 5,   /* answered, but the kernel cannot end it; the server knows no more of it */
};

struct cell {
        uint32_t handle;
        enum cell_state state;
        uint32_t number;  /* of the request whose answer waits */
        int64_t deadline; /* of the same */
        struct sandbox *sandbox;
};

struct cells {
        struct cell all[KEEPER_SANDBOXES_MAX];
        unsigned used, next;
};

/* A free one, LIVE from now on, with a new handle; NULL when there is none. */
struct cell *cells_take(struct cells *cells, struct sandbox *sandbox);

/* The one with this handle, or NULL. */
struct cell *cells_find(struct cells *cells, uint32_t handle);

/* Forgets it; the sandbox is the caller's again. */
void cells_drop(struct cells *cells, struct cell *cell);
