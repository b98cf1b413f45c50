/* cli/image/link.h -- cella-image, as `cella image` uses it: one job after the other, and a key that stops
 * it.
 *
 * No daemon is needed; with one on the same store the two leave each other alone (see image/store/writer.h).
 */
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
        uint64_t id;             /* of the job under way, or the last */
        bool ended;              /* it has, and */
        struct imager_event end; /* so */
        int interrupted;         /* the signal that told us to stop; 0: none did */
        void (*on_progress)(void *context, const struct imager_event *event);
        void *context;
};
#define IMAGE_LINK_NONE ((struct image_link){.child = CHILD_NONE, .socket = -1, .signals = -1})

/* STATE/images of this state directory; NULL: of $CELLA_STATE, or where the daemon keeps things. */
#define IMAGE_STORE_SIZE 1024
int image_link_store(const char *state, char ret[IMAGE_STORE_SIZE], struct cella_err *err);

/* Starts it.  From then on signals that end a program are for this to see. */
int image_link_open(const char *store, struct image_link *ret, struct cella_err *err);
/* What was under way leaves nothing.  Signals that came meanwhile come again, by their own. */
void image_link_close(struct image_link *link);
static inline void image_link_close_auto(struct image_link *link)
{
        image_link_close(link);
}

/* Begins a job: a line of imager_write_*() for link->id, which this frees; r: what that returned. */
int image_link_begin(struct image_link *link, int r, char *line, size_t len, int fd, struct cella_err *err);
/* The number to write it for. */
static inline uint64_t image_link_next(struct image_link *link)
{
        return ++link->id;
}

/* Waits for what it says, a signal, or one of `more`, whose revents are filled in, but not for longer than
 * this.  Look at link->ended. */
int image_link_round(struct image_link *link, struct pollfd *more, unsigned n_more, int timeout_ms,
                     struct cella_err *err);
/* The job is not wanted any more: its end comes. */
void image_link_cancel(struct image_link *link);
/* What came of it: 0; or what was wrong, as text that is safe to show. */
int image_link_verdict(const struct image_link *link, struct cella_err *err);
/* Rounds until it has ended, and the verdict. */
int image_link_finish(struct image_link *link, struct cella_err *err);
