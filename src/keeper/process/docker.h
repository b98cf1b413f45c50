/* keeper/process/docker.h -- starts cella-docker when the server wants it.
 *
 * One at a time.  The server ends it by closing its socket; another one that is asked for while it is still
 * there comes when it is dead. */
#pragma once
#include "keeper/process/keeper.h"

void keeper_docker_init(struct keeper_docker *docker);

/* It is readable: its pidfd, which was being watched. */
void keeper_docker_died(struct keeper *keeper);

/* Its socket was the server's, which is gone: lets it remove what it made, for as long as that may take. */
void keeper_docker_done(struct keeper_docker *docker);
