/* keeper/process/egress.h -- keeps an egress process running for the server. */
#pragma once
#include <stdint.h>

#include "keeper/spawn/egress_process.h"

struct keeper;

struct keeper_egress {
        struct egress_process process;
        int64_t begun;    /* when it was started */
        int64_t start_at; /* when the next one is; 0: there is one */
        int64_t delay;    /* before the one after that */
};

void keeper_egress_init(struct keeper_egress *egress);

/* Starts one and sends the server its socket; fails into a later try. */
void keeper_egress_start(struct keeper *keeper);

/* It is readable: its pidfd, which was being watched. */
void keeper_egress_died(struct keeper *keeper);

void keeper_egress_done(struct keeper_egress *egress);
