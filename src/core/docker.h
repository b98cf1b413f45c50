/* core/docker.h -- the second engine: cella-docker, which the keeper starts when it is needed.
 *
 * It speaks the keeper's protocol, so the requests about a sandbox are the same for both engines;
 * sandbox_ask() chooses between them.  It ends when it was not used for a while. */
#pragma once
#include "core/core.h"
#include "wire/docker.h"

struct docker;

/* Calls to the owner of the sandboxes. */
struct docker_events {
        /* cella-docker has ended, and with it every sandbox of this engine. */
        void (*on_lost)(struct core *core, const struct cella_err *err);
        /* Whether a sandbox of this engine is alive. */
        bool (*is_used)(const struct core *core);
};

int docker_new(struct core *core, const struct docker_events *events, struct docker **ret,
               struct cella_err *err);
struct docker *docker_free(struct docker *docker);

/* As keeper_link_make(): the answer is DOCKER_MADE or KEEPER_FAILED, and comes later. */
int docker_make(struct docker *docker, const struct keeper_make *make, keeper_answer answer, void *context);

/* Whether an engine may pull this for somebody: it is the host's own traffic, whoever moves it, and what the
 * settings do not let us pull from is not for an engine either. */
bool docker_may_pull(const struct settings *settings, const struct caller *caller, const char *image);

/* The socket to it; NULL while there is none. */
struct keeper_link *docker_link(const struct docker *docker);

/* No answer reaches this context any more. */
void docker_forget(struct docker *docker, const void *context);

/* The settings have changed. */
void docker_configure(struct docker *docker);

/* Now and then. */
void docker_tick(struct docker *docker);

/* Finds out what engine there is, unless that is known already: 1, or 0 and told() comes, unless it is
 * forgotten. */
int docker_look(struct docker *docker, void (*told)(void *context), void *context);
/* What is known: {"available", "reason", "hint", "engine", "version", ...}. */
json_t *docker_to_json(const struct docker *docker);
/* ISOLATION_DOCKER or ISOLATION_PODMAN. */
uint32_t docker_mark(const struct docker *docker);
