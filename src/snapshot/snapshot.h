/* snapshot/snapshot.h -- a running interpreter into a template (template.h). */
#pragma once
#include "snapshot/template.h"

/* Writes this process to fd.  0 when that is done, -1 with snapshot_problem; and 1, later, in each
 * process that was restored from there. */
int snapshot(int fd);

/* Makes its pages large ones, where the kernel can. */
void snapshot_pack(int fd);

/* In a restored process: notes in the template which of its pages have been touched since.  All of them, by
 * code that does what is usual; or those that were written to, by code that does next to nothing. */
int snapshot_touched(int fd, int all);

/* In others that waited, before snapshot_forget(): has those pages at hand before they are needed, copied or
 * mapped.  All of them is for who waits anyway.  Those that are written to by whatever code there is would be
 * copied one by one as it runs, and most be mapped before, which costs twice as much. */
void snapshot_touch(int all);

/* Lets go of what is known about the template. */
void snapshot_forget(void);

extern const char *snapshot_problem;
