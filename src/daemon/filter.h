/* daemon/filter.h -- the server's own cage: the system calls it makes, and no others. */
#pragma once
#include "cella.h"

/* For every thread, from now on.  No new program, no socket, no process. */
int filter_load(struct cella_err *err);
