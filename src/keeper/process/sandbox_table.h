/* keeper/process/sandbox_table.h -- the sandboxes the keeper has, by handle.
 *
 * A handle is a place and how often the place was used: an old one finds nothing, until four
 * thousand million sandboxes later. */
#pragma once
#include <stdint.h>

#include "keeper/spawn/sandbox.h"
#include "wire/keeper.h"

enum sandbox_state {
        SANDBOX_FREE = 0,
        SANDBOX_LIVE = 1u << 0,
        SANDBOX_FREEZING = 1u << 1, /* the answer waits until nothing runs any more */
        SANDBOX_FROZEN = 1u << 2,
        SANDBOX_DEAD = 1u << 3,   /* its init is gone, and reaped */
        SANDBOX_ENDING = 1u << 4, /* the answer waits for its death */
        SANDBOX_LOST = 1u << 5,   /* answered, but the kernel cannot end it; the server knows no more of it */
};

struct sandbox_entry {
        uint32_t handle;
        enum sandbox_state state;
        uint32_t number;  /* of the request whose answer waits */
        int64_t deadline; /* of the same */
        struct sandbox *sandbox;
};

struct sandbox_table {
        struct sandbox_entry all[KEEPER_SANDBOXES_MAX];
        unsigned used, next;
};

/* A free one, LIVE from now on, with a new handle; NULL when there is none. */
struct sandbox_entry *sandbox_table_add(struct sandbox_table *table, struct sandbox *sandbox);

/* The one with this handle, or NULL. */
struct sandbox_entry *sandbox_table_find(struct sandbox_table *table, uint32_t handle);

/* Forgets it; the sandbox is the caller's again. */
void sandbox_table_remove(struct sandbox_table *table, struct sandbox_entry *entry);
