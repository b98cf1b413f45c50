/* core/network.h -- what a sandbox may reach: the settings, narrowed by its key and its request.
 *
 * The tier is that of the request, at most that of the settings and of the key.  In tier standard a name must
 * be in the settings' list and, if the request has a list, also in that; if the settings' tier is elevated,
 * the request's list is enough.  Blocked lists add up.  A sandbox keeps the network of its request.  When the
 * settings change, the result is computed again: settings can take access away and give it back, but a
 * sandbox never gets a higher tier than it was made with. */
#pragma once
#include <jansson.h>

#include "core/caller.h"
#include "wire/egress.h"

struct network {
        enum tier tier;
        json_t *allowed, *blocked; /* lists of the request; NULL: none */
};

/* Computes the network of a request.  asked: its object, or NULL.  Fails if it asks for more than allowed. */
int network_narrow(const struct settings *settings, const struct caller *caller, const json_t *asked,
                   struct network *ret, struct cella_err *err);
void network_done(struct network *network);
void network_copy(const struct network *from, struct network *to); /* frees the old contents of *to */
/* Checks that a request to an existing sandbox asks for the same network. */
int network_check_same(const struct network *have, const json_t *asked, struct cella_err *err);

/* Returns its tier under these settings. */
enum tier network_tier(const struct settings *settings, const struct network *network);

/* Makes EGRESS_ATTACH or EGRESS_CHANGE; the caller frees it.  If the settings no longer allow its tier, the
 * message allows nothing, so that connections are refused at once. */
int network_message(const struct settings *settings, const struct network *network, enum egress_request type,
                    uint64_t sandbox, struct egress_attach **ret, size_t *ret_len);

/* Convert to and from the saved state; old states may have none. */
json_t *network_to_state(const struct network *network);
void network_from_state(const json_t *object, struct network *ret);
/* Returns it as shown to users. */
json_t *network_to_json(const struct settings *settings, const struct network *network);
