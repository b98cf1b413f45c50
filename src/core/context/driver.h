/* core/context/driver.h -- the process of a context: an interpreter in the sandbox that runs a driver, its
 * output, and the socket for code and results (driver_frames.h).
 *
 * One driver is one process.  A context that is restarted gets a new driver. */
#pragma once
#include "core/context/driver_frames.h"
#include "core/sandbox/sandbox.h"

struct driver;

/* Callbacks for the context.  driver_free() may be called in each; then no other follows. */
struct driver_events {
        void (*on_frame)(void *context, enum driver_word word, char *body, size_t len);
        void (*on_output)(void *context, enum cella_stream stream, const char *data, size_t len);
        /* All signals have been delivered. */
        void (*on_signalled)(void *context);
        /* The socket is no longer read.  why NULL: the process closed it, and probably ends soon.  Otherwise
         * it broke the protocol. */
        void (*on_silent)(void *context, const char *why);
        /* The last callback: the process and its descendants have ended, or it could not be started (err is
         * set). */
        void (*on_ended)(void *context, const struct init_exited *exited, const struct cella_err *err);
};

/* Whether there is a driver for this runtime, also with a version ("python3.12"). */
bool driver_knows(const char *runtime);

/* Starts a process in a sandbox that accepts messages.  Borrows runtime. */
int driver_new(struct core_sandbox *sandbox, const char *runtime, const struct driver_events *events,
               void *context, struct driver **ret, struct cella_err *err);
/* Frees the driver without further callbacks.  To end the process, send SIGKILL first and wait for
 * on_ended. */
struct driver *driver_free(struct driver *driver);

int driver_pid(const struct driver *driver); /* in the sandbox; 0: not known yet */
/* Sets the messages that are allowed from now on: DRIVER_MAY() of each. */
void driver_expect(struct driver *driver, unsigned words);
/* Sends code without blocking; unsent bytes are queued. */
int driver_run(struct driver *driver, const char *code, size_t len);
/* Whether the driver has read all of the code.  A SIGINT before that would have no effect. */
bool driver_took(const struct driver *driver);
/* Sends a signal: SIGKILL to all its descendants, others to its process group.  on_signalled follows. */
void driver_signal(struct driver *driver, int signal);
bool driver_signalling(const struct driver *driver);
/* Stops or continues reading the output. */
void driver_wait(struct driver *driver, bool wait);
/* Reads all output that is in the pipes now. */
void driver_drain(struct driver *driver);
