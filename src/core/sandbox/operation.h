/* core/sandbox/operation.h -- operations on the files of a sandbox, done by its init (wire/init.h).
 *
 * What comes out is as hostile as anything else from there. */
#pragma once
#include "core/sandbox/sandbox.h"

struct operation;

struct operation_events {
        void (*on_data)(struct operation *op, const char *data, size_t len, void *context); /* may be NULL */
        void (*on_room)(struct operation *op, void *context); /* operation_feed() may be tried again */
        /* Once, last: err NULL if all went well. */
        void (*on_end)(struct operation *op, const struct cella_err *err, void *context);
};

/* Begins.  Events come later, never from within.  path2 may be NULL. */
int operation_new(struct core_sandbox *sandbox, const struct init_operate *what, const char *path,
                  const char *path2, const struct operation_events *events, void *context,
                  struct operation **ret, struct cella_err *err);
/* Nobody wants it any more: it is killed, and what it wrote has not happened.  No events. */
void operation_cancel(struct operation *op);

void operation_pause(struct operation *op, bool pause); /* no on_data while it is */
/* Bytes for a WRITE or UNTAR; how many were taken, 0 when there is no room. */
size_t operation_feed(struct operation *op, const char *data, size_t len);
void operation_feed_end(struct operation *op);

/* A whole file at once, under a tag of the caller's: INIT_EXITED comes there. */
int operation_put(struct core_sandbox *sandbox, uint32_t tag, const char *path, const char *data, size_t len);
/* Words for how one ended. */
int operation_explain(int wait_status, const char *path, struct cella_err *err);
/* A path that may be asked for at all. */
int operation_check_path(const char *path, const char *name, struct cella_err *err);
