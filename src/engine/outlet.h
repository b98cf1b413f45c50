/* engine/outlet.h -- the network of a sandbox without a daemon: an egress process of its own (wire/egress.h).
 *
 * Nothing here waits for the process but outlet_attach(), until it runs, and outlet_count(), for so long. */
#pragma once
#include "base/auto.h"
#include "cella.h"
#include "engine/violation.h"
#include "wire/egress.h"
#include <stddef.h>

struct outlet;

/* Whether it can be asked for. */
int outlet_check(const struct cella_network *network, struct cella_err *err);

/* Starts the process; what it is going to be told is checked. */
int outlet_new(const struct cella_network *network, struct outlet **ret, struct cella_err *err);
/* Everything that is still connected is closed, soon; outlet_free() waits for that. */
void outlet_end(struct outlet *outlet);
struct outlet *outlet_free(struct outlet *outlet);
DEFINE_AUTO(struct outlet *, outlet_free)

/* Hands over the sandbox's way out; borrows the descriptors. */
int outlet_attach(struct outlet *outlet, const int way_out[2], struct cella_err *err);

/* What comes from now on is counted anew, and what is refused is told, from outlet_hear() and outlet_count().
 */
void outlet_begin(struct outlet *outlet, void (*told)(void *context, const struct violation *violation),
                  void *context);

/* To wait for; -1 once it is gone. */
int outlet_fd(const struct outlet *outlet);

/* Reads what it has to say. */
void outlet_hear(struct outlet *outlet);

/* What was done since outlet_begin(); all that was refused until then has been told.  False: nobody knows. */
bool outlet_count(struct outlet *outlet, struct cella_network_usage *ret);

/* How this host resolves names, for the egress process, which may not open files. */
#define EGRESS_CONFIG_BYTES (sizeof(struct egress_config) + EGRESS_CONFIG_MAX)

/* Writes an EGRESS_CONFIG with the current /etc/resolv.conf and /etc/hosts, as many whole lines of each as
 * there is room for.  Returns its length. */
size_t egress_config_fill(char packet[EGRESS_CONFIG_BYTES]);
