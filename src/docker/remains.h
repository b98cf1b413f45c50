/* docker/remains.h -- containers that an engine did not remove when asked to.
 *
 * The engine may have been down or busy.  Removal is retried until it succeeds or this process ends; then the
 * next cella-docker finds them (sweep.h). */
#pragma once
#include <stdbool.h>

void remains_add(const char *socket, const char *id);
bool remains_are_there(void);

/* Tries to remove each of them once.  Run as a job. */
void remains_retry(void *unused);
