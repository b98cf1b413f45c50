/* keeper/process/docker.h -- starts cella-docker when the server asks for it.
 *
 * There is one process at a time.  The server ends it by closing its socket.  If the server asks for another
 * one before that, it starts when the old one is dead. */
#pragma once
#include "keeper/process/keeper.h"

void keeper_docker_init(struct keeper_docker *docker);

/* Call when the watched pidfd of cella-docker is readable. */
void keeper_docker_died(struct keeper *keeper);

/* Call after the server has ended, which closes the other end of the socket.  Waits up to 20 s while
 * cella-docker removes its containers. */
void keeper_docker_done(struct keeper_docker *docker);
