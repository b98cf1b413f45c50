/* bombs.h -- attacks that use up resources, or hide from their end. */
#pragma once
#include "tally.h"
#include "victims.h"

void bombs_try_all(struct tally *tally, const struct victims *v, const char *filter);
