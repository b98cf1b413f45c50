/* snapshot/snapshot.h -- writes a running interpreter to a template (template.h). */
#pragma once
#include "snapshot/template.h"

/* Writes this process to fd. Returns 0 when it is written, -1 with snapshot_problem set; and 1, later, in
 * each process that is restored from it. */
int snapshot(int fd);

/* Uses large pages for the template, if the kernel can. */
void snapshot_pack(int fd);

/* In a restored process: records in the template which of its pages were touched since: all of them, after
 * typical code; or those that were written, after code that does next to nothing. */
int snapshot_touched(int fd, int all);

/* In other waiting processes, before snapshot_forget(): copies or maps those pages before they are needed.
 * All pages: only while the process waits anyway. Pages that any code writes to would otherwise be copied
 * one by one, most of them after they were mapped for reading, which costs twice as much. */
void snapshot_touch(int all);

/* Frees the information about the template. */
void snapshot_forget(void);

extern const char *snapshot_problem;
