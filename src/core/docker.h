/* core/docker.h -- the second engine: cella-docker, which the keeper starts on demand.
 *
 * It uses the keeper's protocol, so requests about a sandbox are the same for both engines; sandbox_ask()
 * chooses between them.  It is ended when it was not used for a while. */
#pragma once
#include "core/core.h"
#include "wire/docker.h"

struct docker;

/* Callbacks for the owner of the sandboxes. */
struct docker_events {
        /* cella-docker has ended, and with it all sandboxes of this engine. */
        void (*on_lost)(struct core *core, const struct cella_err *err);
        /* Whether a sandbox of this engine is alive. */
        bool (*is_used)(const struct core *core);
};

int docker_new(struct core *core, const struct docker_events *events, struct docker **ret,
               struct cella_err *err);
struct docker *docker_free(struct docker *docker);

/* Like keeper_link_make(): the answer is DOCKER_MADE or KEEPER_FAILED and comes later. */
int docker_make(struct docker *docker, const struct keeper_make_mounts *make, keeper_answer answer,
                void *context);

/* Whether the engine may pull this image for the caller.  The rules for pulling by Cella itself apply,
 * because it is also traffic of the host. */
bool docker_may_pull(const struct settings *settings, const struct caller *caller, const char *image);

/* Removes the volume of this workspace, as soon as an engine is available; then calls done().  If the engine
 * cannot remove it, done() is not called: the next daemon tries again. */
int docker_drop(struct docker *docker, const char *name, void (*done)(struct core *core, const char *name));

/* Returns the socket to the process; NULL: it does not run. */
struct keeper_link *docker_link(const struct docker *docker);

/* Discards answers for this context. */
void docker_forget(struct docker *docker, const void *context);

/* Call when the settings have changed. */
void docker_configure(struct docker *docker);

/* Call regularly: ends an unused process. */
void docker_tick(struct docker *docker);

/* Looks for a container engine unless the result is cached.  Returns 1 if it is cached; otherwise 0, and
 * on_report() is called later unless docker_forget() is called. */
int docker_look(struct docker *docker, void (*on_report)(void *context), void *context);
/* Returns the cached result: {"available", "reason", "hint", "engine", "version", ...}. */
json_t *docker_to_json(const struct docker *docker);
/* Returns ISOLATION_DOCKER or ISOLATION_PODMAN. */
uint32_t docker_mark(const struct docker *docker);
