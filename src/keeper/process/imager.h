/* keeper/process/imager.h -- starts cella-image when the server wants it.
 *
 * One at a time.  The server ends it by closing its socket; another one that is asked for while it is still
 * there comes when it is dead. */
#pragma once
#include <stdint.h>

#include "keeper/spawn/child.h"

struct keeper;

struct keeper_imager {
        struct child child;
        bool lives;      /* there is one */
        uint32_t wanted; /* the number of a request that waits for its end; 0: none does */
};

void keeper_imager_init(struct keeper_imager *imager);

/* It is readable: its pidfd, which was being watched. */
void keeper_imager_died(struct keeper *keeper);

void keeper_imager_done(struct keeper_imager *imager);
