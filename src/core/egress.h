/* core/egress.h -- the connection to the egress process, and the network state of each sandbox.
 *
 * The keeper starts the egress process and sends its socket, again after each death.  The server keeps the
 * two descriptors of every sandbox with a network (INIT_NETWORK) and attaches them to the current egress
 * process.  Between its death and the next start no traffic leaves, and connections wait. */
#pragma once
#include "core/network.h"
#include "core/violation.h"

struct egress;

/* The network state of one sandbox.  Without a network it stays as sandbox_egress_init() leaves it. */
struct sandbox_egress {
        struct list link; /* in the list of struct egress, while there are descriptors */
        struct egress *egress;
        const struct network *network; /* of the sandbox; borrowed */
        struct list *observers;        /* of the sandbox; borrowed */
        int tcp, udp;
        uint64_t number;                  /* its number in the egress process; 0: not attached */
        bool stale;                       /* the current egress process does not know it */
        bool changed;                     /* the egress process does not have the current policy */
        bool begun;                       /* an execution has started since it was attached */
        struct cella_network_usage total; /* counted before the last EGRESS_BEGIN */
};

int egress_new(struct core *core, struct egress **ret, struct cella_err *err);
struct egress *egress_free(struct egress *egress);
/* Handles KEEPER_EGRESS; takes fd. */
void egress_connect(struct core *core, int fd);
bool egress_is_connected(const struct core *core);
/* Fails if there has been no egress process for a while. */
int egress_check(const struct core *core, struct cella_err *err);

void sandbox_egress_init(struct sandbox_egress *sandbox, struct egress *egress, const struct network *network,
                         struct list *observers);
/* Takes both descriptors; egress_detach() closes them. */
void egress_keep(struct sandbox_egress *sandbox, int tcp, int udp);
/* Enables the network of the sandbox.  Does not wait. */
void egress_attach(struct sandbox_egress *sandbox);
/* Disables the network and closes the descriptors.  Does nothing if there are none. */
void egress_detach(struct sandbox_egress *sandbox);
/* Call when the settings have changed. */
void egress_configure(struct core *core);

/* ---- counters of an execution ---- */

/* Call at the start of an execution, after observer_watch(). */
void egress_begin(struct sandbox_egress *sandbox, struct observer *observer);
/* Call at the end of an execution.  If observer->counting is set afterwards, on_counted is called within a
 * second, not from within this function, and after every violation.  Otherwise the counters are known.  The
 * observer must stay valid until then or until egress_forget(). */
void egress_end(struct sandbox_egress *sandbox, struct observer *observer);
/* Cancels on_counted. */
void egress_forget(struct observer *observer);
