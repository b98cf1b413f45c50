/* core/network.h -- what a sandbox may reach: what the settings allow, narrowed by its key and its request.
 *
 * The tier is that of the request, at most that of the settings and of the key.  In tier standard a name
 * must be in the settings' list and, if the request has one, in that, too; where the settings' tier is
 * elevated, the request's own is enough.  What is blocked adds up.  A sandbox keeps what it was asked for
 * with; what the settings make of that is found anew when they change: they take away, and give back, but
 * a sandbox never gets a higher tier than it was made with. */
#pragma once
#include <jansson.h>

#include "core/caller.h"
#include "wire/egress.h"

struct network {
        enum tier tier;
        json_t *allowed, *blocked; /* the request's own lists; NULL: it has none */
};

/* What a request may have; asked: its object, or NULL.  Says what it may not. */
int network_narrow(const struct settings *settings, const struct caller *caller, const json_t *asked,
                   struct network *ret, struct cella_err *err);
void network_done(struct network *network);
void network_copy(const struct network *from, struct network *to); /* what *to had is let go of */
/* A request to a sandbox that is there already may only say what that has. */
int network_check_same(const struct network *have, const json_t *asked, struct cella_err *err);

/* Its tier under these settings. */
enum tier network_tier(const struct settings *settings, const struct network *network);

/* EGRESS_ATTACH or EGRESS_CHANGE; the caller frees it.  Where the settings do not allow its tier any more,
 * one that allows nothing: who is refused is told so, and does not wait. */
int network_message(const struct settings *settings, const struct network *network, enum egress_request type,
                    uint64_t sandbox, struct egress_attach **ret, size_t *ret_len);

/* For the state, and back: an old one has none. */
json_t *network_to_state(const struct network *network);
void network_from_state(const json_t *object, struct network *ret);
/* As users see it. */
json_t *network_to_json(const struct settings *settings, const struct network *network);
