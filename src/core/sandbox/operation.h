/* core/sandbox/operation.h -- operations on the files of a sandbox, done by its init (wire/init.h).
 *
 * Data from the sandbox is not trusted. */
#pragma once
#include <time.h>

#include "core/sandbox/sandbox.h"

struct operation;

struct operation_events {
        void (*on_data)(struct operation *op, const char *data, size_t len, void *context); /* may be NULL */
        void (*on_room)(struct operation *op, void *context); /* operation_feed() can be tried again */
        /* The last callback.  err NULL: success. */
        void (*on_end)(struct operation *op, const struct cella_err *err, void *context);
};

/* Starts an operation.  Callbacks come later, not from within.  path2 may be NULL. */
int operation_new(struct core_sandbox *sandbox, const struct init_operate *what, const char *path,
                  const char *path2, const struct operation_events *events, void *context,
                  struct operation **ret, struct cella_err *err);
/* Kills the operation; partial writes are discarded.  No callbacks follow. */
void operation_cancel(struct operation *op);

void operation_pause(struct operation *op, bool pause); /* stops on_data */
/* Passes bytes for WRITE or UNTAR.  Returns the number taken; 0: no room. */
size_t operation_feed(struct operation *op, const char *data, size_t len);
void operation_feed_end(struct operation *op);

/* Writes a whole file, with a tag of the caller, which receives INIT_EXITED. */
int operation_put(struct core_sandbox *sandbox, uint32_t tag, const char *path, const char *data, size_t len);
/* Sets err for an operation that ended with this status. */
int operation_explain(int wait_status, const char *path, struct cella_err *err);
/* Sets the time after which a file of the workspace counts as changed by the code that starts next.  Returns
 * false if files that were written in the last milliseconds may count as changed, too. */
bool operation_stamp(const struct core_sandbox *sandbox, struct timespec *ret);
/* Checks that a path is not empty or too long, and that ".." does not lead out of /workspace (relative paths)
 * or above the root directory. */
int operation_check_path(const char *path, const char *name, struct cella_err *err);
