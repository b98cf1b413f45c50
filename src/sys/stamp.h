/* sys/stamp.h -- a moment as files have it: when something changed, for who asks later what changed since.
 *
 * Files are stamped with a clock that goes in steps of some milliseconds; so what was written just before a
 * moment and what is written just after it may look alike.  From Linux 6.13 on, a file whose stamp somebody
 * has seen gets a finer one when it changes, and no file anywhere is stamped with less from then on. */
#pragma once
#include <stdbool.h>
#include <time.h>

/* True: all that was written before has an older stamp, and all that comes has this one or a newer.  False:
 * what was written before may have it as well, unless that was before the clock's last step. */
bool sys_stamp_now(struct timespec *ret);
