/* keeper/cells.h -- the sandboxes the keeper has, by handle.
 *
 * A handle is a place and how often the place was used: an old one finds nothing, until four
 * thousand million sandboxes later. */
#pragma once
#include <stdint.h>

#include "keeper/sandbox.h"
#include "keeper/views.h"
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
        struct view_kept *view; /* if its view may serve again; NULL: not */
};

struct cells {
        struct cell all[KEEPER_SANDBOXES_MAX];
        unsigned used, next;
        int64_t views_due; /* when one of their views may be good for nobody any more; 0: there is none */
};

/* A free one, LIVE from now on, with a new handle; NULL when there is none. */
struct cell *cells_take(struct cells *cells, struct sandbox *sandbox);

/* The one with this handle, or NULL. */
struct cell *cells_find(struct cells *cells, uint32_t handle);

/* Its view may serve again when it is dead: now it is the cell's. */
void cells_keep_view(struct cells *cells, struct cell *cell, struct view_kept *view);
/* Lets go of those that cannot any more, of sandboxes that live on: each has six descriptors. */
void cells_tidy(struct cells *cells, int64_t now);

/* Forgets it, and lets go of its view; the sandbox is the caller's again. */
void cells_drop(struct cells *cells, struct cell *cell);
