/* core/context/driver.h -- the process that a context is: an interpreter in the sandbox with a driver in it,
 * its output, and the socket on which it takes code and says what came of it (driver_frames.h).
 *
 * One driver is one process, from its start to its end.  A context that is restarted gets another. */
#pragma once
#include "core/context/driver_frames.h"
#include "core/sandbox/sandbox.h"

struct driver;

/* Calls to its context.  driver_free() may be called from each, and then none follows. */
struct driver_events {
        void (*on_frame)(void *context, enum driver_word word, char *body, size_t len);
        void (*on_output)(void *context, enum cella_stream stream, const char *data, size_t len);
        /* Every signal that was sent has reached it. */
        void (*on_signalled)(void *context);
        /* It cannot be heard any more: it closed its socket (why is NULL; its end comes soon, if that was
         * because of it), or said what it may not. */
        void (*on_silent)(void *context, const char *why);
        /* Last: it and all it started is gone; or it could not be started, err says why. */
        void (*on_ended)(void *context, const struct init_exited *exited, const struct cella_err *err);
};

/* The runtimes that there are drivers for: by name, versions too ("python3.12"). */
bool driver_knows(const char *runtime);

/* Starts one in a sandbox that takes messages.  Borrows runtime. */
int driver_new(struct core_sandbox *sandbox, const char *runtime, const struct driver_events *events,
               void *context, struct driver **ret, struct cella_err *err);
/* Forgets it, and it is not heard any more; who wants it dead kills it and waits for on_ended. */
struct driver *driver_free(struct driver *driver);

int driver_pid(const struct driver *driver); /* inside; 0: not known yet */
/* What it may say from now on: DRIVER_MAY() of each. */
void driver_expect(struct driver *driver, unsigned words);
/* Sends code; never blocks: what it does not take waits here. */
int driver_run(struct driver *driver, const char *code, size_t len);
/* It has taken all of the code, and is about to run it: SIGINT before that would be for nothing. */
bool driver_took(const struct driver *driver);
/* SIGKILL reaches everything it started, others its process group.  on_signalled follows. */
void driver_signal(struct driver *driver, int signal);
bool driver_signalling(const struct driver *driver);
/* Whoever wants the output has no room: reads none until it is told to go on. */
void driver_wait(struct driver *driver, bool wait);
/* Takes what is in the pipes now. */
void driver_drain(struct driver *driver);
