/* core/egress.h -- the connection to the egress process, and the part of each sandbox in it.
 *
 * The keeper starts the egress process and sends its socket, again after each death.  The server keeps
 * the two descriptors of every sandbox that has a network (INIT_NETWORK) and attaches them to the present
 * egress process.  Between its death and the next start no traffic leaves, and connections wait. */
#pragma once
#include "core/network.h"
#include "core/violation.h"

struct egress;

/* The part of one sandbox.  Without a network it stays as sandbox_egress_init() leaves it. */
struct sandbox_egress {
        struct list link; /* in the core's egress, while there are descriptors */
        struct egress *egress;
        const struct network *network; /* of the sandbox; borrowed */
        struct list *observers;        /* of the sandbox; borrowed */
        int tcp, udp;
        uint64_t number;                  /* by which the egress process knows it; 0: it must not know it */
        bool stale;                       /* the present egress process does not know it, */
        bool changed;                     /* or does not know its present policy */
        bool begun;                       /* something has run since it was attached */
        struct cella_network_usage total; /* what was counted before the last EGRESS_BEGIN */
};

int egress_new(struct core *core, struct egress **ret, struct cella_err *err);
struct egress *egress_free(struct egress *egress);
/* KEEPER_EGRESS; takes fd. */
void egress_connect(struct core *core, int fd);
bool egress_is_connected(const struct core *core);
/* Says so if there is no egress process, and has not been for a while. */
int egress_check(const struct core *core, struct cella_err *err);

void sandbox_egress_init(struct sandbox_egress *sandbox, struct egress *egress, const struct network *network,
                         struct list *observers);
/* Takes both descriptors and keeps them until egress_detach(). */
void egress_keep(struct sandbox_egress *sandbox, int tcp, int udp);
/* From now on the sandbox may reach what its network allows.  Does not wait. */
void egress_attach(struct sandbox_egress *sandbox);
/* Takes the network away and closes the descriptors.  Does nothing if there are none. */
void egress_detach(struct sandbox_egress *sandbox);
/* The settings have changed. */
void egress_configure(struct core *core);

/* ---- what an execution did on the network ---- */

/* To be called when an execution begins, after observer_watch(). */
void egress_begin(struct sandbox_egress *sandbox, struct observer *observer);
/* To be called when it has ended.  If observer->counting is set afterwards, on_counted is called within a
 * second, never from within this function, and after every violation.  Else there is nothing to wait for.
 * The observer must stay valid until then, or until egress_forget(). */
void egress_end(struct sandbox_egress *sandbox, struct observer *observer);
/* on_counted will not be called. */
void egress_forget(struct observer *observer);
