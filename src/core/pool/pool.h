/* core/pool/pool.h -- sandboxes made ahead of time, each with an interpreter that waits in it.
 *
 * One pool for each entry of the settings.  A member is used once, as any other sandbox of a single
 * execution; the next is made when the answer has gone out.  Members count as sandboxes, and give way
 * when somebody needs the room. */
#pragma once
#include "core/pool/waiting.h"

/* The settings have changed, or it begins. */
int pools_configure(struct core *core, struct cella_err *err);
/* Ends all of them. */
void pools_stop(struct core *core);

/* A sandbox that is ready for this request, with an interpreter that waits in it (sandbox->waiting); NULL
 * if there is none.  It is the caller's from now on. */
struct core_sandbox *pool_take(struct core *core, const struct sandbox_spec *spec,
                               const struct exec_request *request);
/* How the interpreter of a fresh sandbox of that image is to be started for this request; kind WAITING_NOT:
 * plainly. */
void pool_how(const struct core *core, const struct used_image *image, const struct exec_request *request,
              struct waiting_how *ret);
/* So many want room, or there is less than there was: ends as many members as that takes.  Whether there
 * were any. */
bool pools_give_way(struct core *core, unsigned wanted);
/* The sandbox is about to be freed: the pool that it was taken from forgets it. */
void pool_sandbox_gone(struct core_sandbox *sandbox);
/* Starts members of pools that have too few.  Called when the machine may be idle or a sandbox has ended. */
void pools_refill(struct core *core);
/* Called by a timer: also ends members that take too long to start. */
void pools_tick(struct core *core);

/* The template of a runtime of that image, for contexts; false: there is none (yet). */
bool pool_template(const struct core *core, const struct used_image *image, const char *runtime,
                   struct waiting_how *ret);

/* For a caller that does not see the daemon's counters: only the pools of the settings, without counters but
 * the number of its own sandboxes in use. */
json_t *pools_to_json(const struct core *core, const struct caller *caller);
