/* image/store/layout.h -- the directories and locks of the store (store.h, writer.h). */
#pragma once
#include "cella.h"

struct imager_job;

/* Locks a file of the store ("lock" or "commit"): LOCK_SH or LOCK_EX.  Waits for the lock until the job,
 * which may be NULL, is cancelled; with LOCK_NB it does not wait (-EWOULDBLOCK).  Returns a descriptor that
 * holds the lock. */
int store_lock(int store, const char *file, int how, const struct imager_job *job, struct cella_err *err);

/* Creates the missing directories of the store. */
int store_prepare(int store, struct cella_err *err);
