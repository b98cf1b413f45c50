/* front/tools/tick.h -- waits until files that were written before have older timestamps than files that are
 * written afterwards.
 *
 * The clock of file timestamps advances in steps of some milliseconds. */
#pragma once
#include <uv.h>

#include "base/err.h"

struct tick;

/* done() is called once, not from within this function; *ret is invalid afterwards. */
int tick_wait(uv_loop_t *loop, void (*done)(void *context), void *context, struct tick **ret,
              struct cella_err *err);
/* done() will not be called.  NULL is allowed. */
void tick_cancel(struct tick *tick);
