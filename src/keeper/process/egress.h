/* keeper/process/egress.h -- keeps an egress process running for the server. */
#pragma once
#include "keeper/process/keeper.h"

void keeper_egress_init(struct keeper_egress *egress);

/* Starts one and sends the server its socket; fails into a later try. */
void keeper_egress_start(struct keeper *keeper);

/* It is readable: its pidfd, which was being watched. */
void keeper_egress_died(struct keeper *keeper);

void keeper_egress_done(struct keeper_egress *egress);
