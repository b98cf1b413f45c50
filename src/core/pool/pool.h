/* core/pool/pool.h -- sandboxes made in advance, each with an interpreter that waits in it.
 *
 * There is one pool for each entry of the settings.  A member is used once, like any sandbox of a single
 * execution; the next is made after the answer was sent.  Members count as sandboxes and are ended when other
 * requests need the place. */
#pragma once
#include "core/pool/waiting.h"

/* Call when the settings have changed, and at the start. */
int pools_configure(struct core *core, struct cella_err *err);
/* Ends all pools. */
void pools_stop(struct core *core);

/* Returns a ready sandbox for this request with a waiting interpreter (sandbox->waiting), which the caller
 * owns; NULL if there is none. */
struct core_sandbox *pool_take(struct core *core, const struct sandbox_spec *spec,
                               const struct exec_request *request);
/* Lends a sandbox of the pool with this runtime and the image of spec: a ready one, or a new one if none is
 * ready.  It stays until it is removed. */
int pool_lease(struct core *core, const struct sandbox_spec *spec, const char *runtime,
               struct core_sandbox **ret, struct cella_err *err);
/* Returns how the interpreter of a new sandbox of that image is started for this request; kind WAITING_NOT:
 * normally. */
void pool_how(const struct core *core, const struct used_image *image, const char *key,
              const struct exec_request *request, struct waiting_how *ret);
/* Ends as many members as needed to make room for `wanted` sandboxes, or after the limit was lowered.
 * Returns whether it ended any. */
bool pools_give_way(struct core *core, unsigned wanted);
/* Call before the sandbox is freed: its pool drops the reference. */
void pool_sandbox_gone(struct core_sandbox *sandbox);
/* Starts to make members of pools that have too few.  Call when the machine may be idle or a sandbox has
 * ended. */
void pools_refill(struct core *core);
/* Called by a timer: also ends members that take too long to start. */
void pools_tick(struct core *core);

/* Finds the template of a runtime of that image, for contexts of that key.  Returns false if there is none
 * (yet). */
bool pool_template(const struct core *core, const struct used_image *image, const char *key,
                   const char *runtime, struct waiting_how *ret);

/* Returns the pools, those of the settings first.  A caller that may not see the daemon's counters gets only
 * these, with the number of its own sandboxes in use.  Learned pools follow, only those of the caller's key;
 * the owner gets all. */
json_t *pools_to_json(const struct core *core, const struct caller *caller);
