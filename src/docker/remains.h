/* docker/remains.h -- containers that an engine did not remove when it was told to.
 *
 * It may have been down, or busy.  It is told again, until it does, or we end: then the next cella-docker
 * finds them (sweep.h). */
#pragma once
#include <stdbool.h>

void remains_add(const char *socket, const char *id);
bool remains_are_there(void);

/* Tries each of them once; a job. */
void remains_retry(void *unused);
