/* keeper/process/egress.h -- keeps an egress process running for the server. */
#pragma once
#include "keeper/process/keeper.h"

void keeper_egress_init(struct keeper_egress *egress);

/* Starts the process and sends its socket to the server.  On failure, tries again later. */
void keeper_egress_start(struct keeper *keeper);

/* Call when the watched pidfd of the egress process is readable. */
void keeper_egress_died(struct keeper *keeper);

void keeper_egress_done(struct keeper_egress *egress);
