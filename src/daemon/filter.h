/* daemon/filter.h -- the system call filter of the server itself. */
#pragma once
#include "cella.h"

/* Restricts all threads from now on: no new program, socket or process. Returns 0 or -errno. */
int filter_load(struct cella_err *err);
