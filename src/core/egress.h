/* core/egress.h -- each sandbox's way out: what the egress process is told of it, and what that says.
 *
 * The keeper starts the egress process and sends its socket, again after each death.  The server keeps
 * the two descriptors of every sandbox that has a network (INIT_NETWORK) and attaches them to whichever
 * process there is: between a death and the next start nothing goes out, and who connects waits.  A
 * sandbox without a network has nothing to do with any of this. */
#pragma once
#include "core/network.h"
#include "core/violation.h"

struct egress;

/* A sandbox's own part; without a network it stays as it is at first, zeroed and with no descriptors. */
struct sandbox_egress {
        int tcp, udp;
        uint64_t number;                  /* by which the egress process knows it; 0: it is not to know it */
        bool stale;                       /* the one that there is does not, */
        bool changed;                     /* or not what it may reach now */
        bool begun;                       /* something has run since it was attached */
        struct cella_network_usage total; /* of what was counted before the last EGRESS_BEGIN */
};

int egress_new(struct box *box, struct egress **ret, struct cella_err *err);
struct egress *egress_free(struct egress *egress);
/* KEEPER_EGRESS; takes fd. */
void egress_connect(struct box *box, int fd);
bool egress_is_connected(const struct box *box);
/* Says so if there is no egress process, and has not been for a while. */
int egress_check(const struct box *box, struct cella_err *err);

/* Takes both; they wait here until it is attached. */
void egress_keep(struct box_sandbox *sandbox, int tcp, int udp);
/* It may reach what its network says, from now on.  Does not wait for anybody. */
void egress_attach(struct box_sandbox *sandbox);
/* It has no network any more.  Fine for one that has none. */
void egress_detach(struct box_sandbox *sandbox);
/* The settings are others. */
void egress_configure(struct box *box);

/* ---- what an execution did on the network ---- */

/* It begins, behind observer_watch(). */
void egress_begin(struct box_sandbox *sandbox, struct observer *observer);
/* It has ended.  If the observer is counting then, on_counted comes within a second, never from within, and
 * behind everything that was refused; else there is nothing to wait for.  The observer has to stay, or */
void egress_end(struct box_sandbox *sandbox, struct observer *observer);
void egress_forget(struct observer *observer); /* it is not counting any more */
