/* engine/outlet.h -- the network of a sandbox without a daemon: an egress process for it alone
 * (wire/egress.h).
 *
 * Only two functions wait for the process: outlet_attach(), until it runs, and outlet_count(), up to a
 * second. */
#pragma once
#include "base/auto.h"
#include "cella.h"
#include "engine/violation.h"
#include "wire/egress.h"
#include <stddef.h>

struct outlet;

/* Checks the options and starts the process. */
int outlet_new(const struct cella_network *network, struct outlet **ret, struct cella_err *err);
/* Starts to close all connections; outlet_free() waits for the end of the process. */
void outlet_end(struct outlet *outlet);
struct outlet *outlet_free(struct outlet *outlet);
DEFINE_AUTO(struct outlet *, outlet_free)

/* Passes the sandbox's sockets (INIT_NETWORK) to the process; borrows the descriptors. */
int outlet_attach(struct outlet *outlet, const int way_out[2], struct cella_err *err);

/* Resets the counters.  From now on outlet_receive() and outlet_count() report refused connections to
 * `on_report`. */
void outlet_begin(struct outlet *outlet, void (*on_report)(void *context, const struct violation *violation),
                  void *context);

/* Returns the descriptor to poll; -1 once the process is gone. */
int outlet_fd(const struct outlet *outlet);

/* Reads the messages of the process. */
void outlet_receive(struct outlet *outlet);

/* Gets the usage since outlet_begin(), after all refusals until now were reported.  Returns false if
 * unknown. */
bool outlet_count(struct outlet *outlet, struct cella_network_usage *ret);

/* How this host resolves names, for the egress process, which may not open files. */
#define EGRESS_CONFIG_BYTES (sizeof(struct egress_config) + EGRESS_CONFIG_MAX)

/* Writes an EGRESS_CONFIG with the current /etc/resolv.conf and /etc/hosts, as many whole lines of each as
 * there is room for.  Returns its length. */
size_t egress_config_fill(char packet[EGRESS_CONFIG_BYTES]);
