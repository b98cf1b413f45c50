/* warm/snapshot.h -- a running interpreter into a template (template.h). */
#pragma once
#include "warm/template.h"

/* Writes this process to fd.  0 when that is done, -1 with snapshot_problem; and 1, later, in each
 * process that was restored from there. */
int snapshot(int fd);

/* Makes its pages large ones, where the kernel can. */
void snapshot_pack(int fd);

/* In a restored process: notes in the template which of its pages have been written to since. */
int snapshot_touched(int fd);

/* Has those pages at hand before they are needed: copied, or mapped. */
void snapshot_touch(int fd);

extern const char *snapshot_problem;
