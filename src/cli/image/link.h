/* cli/image/link.h -- cella-image as a child of `cella image`: runs one job after the other, and signals
 * cancel it.
 *
 * No daemon is needed; a daemon may use the same store at the same time (see image/store/writer.h). */
#pragma once
#include <poll.h>

#include "base/auto.h"
#include "cella.h"
#include "keeper/spawn/child.h"
#include "wire/imager.h"

struct image_link {
        struct child child;
        int socket, signals;
        struct imager_reader *reader;
        uint64_t id;             /* of the current or the last job */
        bool ended;              /* the job has ended, with */
        struct imager_event end; /* this event */
        int interrupted;         /* the signal that asked us to stop; 0: none */
        void (*on_progress)(void *context, const struct imager_event *event);
        void *context;
};
#define IMAGE_LINK_NONE ((struct image_link){.child = CHILD_NONE, .socket = -1, .signals = -1})

/* Sets ret to STATE/images of this state directory; NULL: of $CELLA_STATE, or of the default directory of the
 * daemon. */
#define IMAGE_STORE_SIZE 1024
int image_link_store(const char *state, char ret[IMAGE_STORE_SIZE], struct cella_err *err);

/* Starts cella-image.  From then on this module receives the signals that end a program. */
int image_link_open(const char *store, struct image_link *ret, struct cella_err *err);
/* Ends cella-image; a job in progress leaves nothing behind.  Signals that arrived meanwhile get their
 * default action. */
void image_link_close(struct image_link *link);
DEFINE_AUTO_DONE(struct image_link, image_link_close)

/* Begins a job: sends a line of imager_write_*() for link->id and frees it; r: result of that function. */
int image_link_begin(struct image_link *link, int r, char *line, size_t len, int fd, struct cella_err *err);
/* Returns the number for the next job. */
static inline uint64_t image_link_next(struct image_link *link)
{
        return ++link->id;
}

/* Waits for a message, a signal, or an event on one of `more`, which sets its revents, at most for this time.
 * Check link->ended afterwards. */
int image_link_round(struct image_link *link, struct pollfd *more, unsigned n_more, int timeout_ms,
                     struct cella_err *err);
/* Cancels the job: its end follows. */
void image_link_cancel(struct image_link *link);
/* Returns the result of the job: 0, or its error, as text that is safe to print. */
int image_link_verdict(const struct image_link *link, struct cella_err *err);
/* Waits for the end of the job and returns its result. */
int image_link_finish(struct image_link *link, struct cella_err *err);
