/* keeper/process/imager.h -- starts cella-image when the server asks for it.
 *
 * There is one process at a time.  The server ends it by closing its socket.  If the server asks for another
 * one before that, it starts when the old one is dead. */
#pragma once
#include "keeper/process/keeper.h"

void keeper_imager_init(struct keeper_imager *imager);

/* Call when the watched pidfd of cella-image is readable. */
void keeper_imager_died(struct keeper *keeper);

void keeper_imager_done(struct keeper_imager *imager);
