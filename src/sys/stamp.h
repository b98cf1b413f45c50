/* sys/stamp.h -- the current time as file timestamps have it, to find out later which files have changed
 * since.
 *
 * File timestamps use a clock with a resolution of some milliseconds, so a write shortly before a moment
 * and one shortly after it can have the same timestamp.  Since Linux 6.13, a file whose timestamp was read
 * gets a fine-grained timestamp when it changes, and no later timestamp of any file is older than that. */
#pragma once
#include <stdbool.h>
#include <time.h>

/* Returns true if all earlier writes have an older timestamp and all later writes have *ret or a newer one.
 * Returns false if earlier writes may have the timestamp *ret, too, unless they were before the last clock
 * tick. */
bool sys_stamp_now(struct timespec *ret);
