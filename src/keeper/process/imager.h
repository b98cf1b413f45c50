/* keeper/process/imager.h -- starts cella-image when the server wants it.
 *
 * One at a time.  The server ends it by closing its socket; another one that is asked for while it is still
 * there comes when it is dead. */
#pragma once
#include "keeper/process/keeper.h"

void keeper_imager_init(struct keeper_imager *imager);

/* It is readable: its pidfd, which was being watched. */
void keeper_imager_died(struct keeper *keeper);

void keeper_imager_done(struct keeper_imager *imager);
