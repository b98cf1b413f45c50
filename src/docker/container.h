/* docker/container.h -- a sandbox as a container: its description and the requests to the engine. */
#pragma once
#include "cella.h"
#include "docker/api.h"
#include "docker/reply.h"
#include "wire/docker.h"

#define CONTAINER_PLACE "/.cella" /* directory of init and its socket inside */

struct container_mount {
        const char *source, *target; /* source: a path of the host, or the name of a volume */
        bool writable, volume;
};

struct container_spec {
        const struct docker_opened *engine;
        const struct keeper_make *make;
        const struct reply_image *image;
        const char *directory; /* on the host: mounted at CONTAINER_PLACE */
        enum docker_transport transport;
        const char *home, *owner; /* for the labels, by which leftover containers are found */
        const char *user;         /* "": that of the image */
        const char *resolver;     /* on the host: mounted at /etc/resolv.conf. NULL: no network */
        const struct container_mount *mounts;
        size_t n_mounts;
        bool gives; /* only runs volume_give()'s command */
};

/* Returns the body of POST /containers/create, which the caller frees; NULL: no memory. */
char *container_document(const struct container_spec *spec);

/* Starting a container needs some memory and threads in its groups.  With lower limits it starts with these,
 * and container_limit() lowers them before any code runs. */
#define CONTAINER_MEMORY_LEAST (24u << 20)
#define CONTAINER_PROCESSES_LEAST 32u
#define CONTAINER_PROCESSES_KERNEL 1024u /* threads of a runtime's own kernel */

/* Number of processes that the group counts: those of the code, init, its helpers, and its thread if it
 * attaches. */
uint64_t container_processes(const struct keeper_make *make, bool attaches);
uint64_t container_processes_least(enum docker_transport transport);
/* Returns the limit without what this machine does not have: engines refuse that. */
uint64_t container_cpus(uint64_t cpus_milli);

/* All of these wait for the engine, see api.h. */
int container_create(const struct container_spec *spec, char ret[REPLY_ID_MAX], struct cella_err *err);
int container_start(const char *socket, const char *id, struct cella_err *err);
int container_pause(const char *socket, const char *id, bool pause, struct cella_err *err);
int container_inspect(const char *socket, const char *id, struct reply_state *ret, struct cella_err *err);
int container_stats(const char *socket, const char *id, struct keeper_counted *ret, struct cella_err *err);

/* Changes the limits of a running container; cpus_milli 0: not that one.  The kernel tells whether it worked
 * (usage.h). */
void container_limit(const char *socket, const char *id, uint64_t memory_bytes, uint64_t processes,
                     uint64_t cpus_milli);

/* Sends SIGKILL to all processes; succeeds also if the container is gone. */
int container_kill(const char *socket, const char *id, struct cella_err *err);
/* Kills all processes and removes the container. */
int container_remove(const char *socket, const char *id, struct cella_err *err);

/* Sets err for an answer that is not a success: the failed operation and the engine's message. */
int container_refused(struct docker_api_answer *answer, const char *what, struct cella_err *err);
