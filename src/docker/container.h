/* docker/container.h -- one sandbox as a container: the document that describes it, and its life. */
#pragma once
#include "cella.h"
#include "docker/api.h"
#include "docker/reply.h"
#include "wire/docker.h"

#define CONTAINER_PLACE "/.cella" /* where init and its socket are, inside */

struct container_mount {
        const char *source, *target;
        bool writable;
};

struct container_spec {
        const struct docker_opened *engine;
        const struct keeper_make *make;
        const struct reply_image *image;
        const char *directory; /* of the host: shown at CONTAINER_PLACE */
        enum docker_transport transport;
        const char *home, *owner; /* for the labels, by which what is left behind is found */
        const char *user;         /* "": the image's */
        const char *resolver;     /* of the host: shown as /etc/resolv.conf.  NULL: it gets no way out */
        const struct container_mount *mounts;
        size_t n_mounts;
};

/* What POST /containers/create is told.  free() it; NULL: no memory. */
char *container_document(const struct container_spec *spec);

/* What starts a container needs some memory and threads in its groups: with less than that it begins with
 * this, and container_tighten() comes before anything runs. */
#define CONTAINER_MEMORY_LEAST (24u << 20)
#define CONTAINER_PROCESSES_LEAST 32u
#define CONTAINER_PROCESSES_KERNEL 1024u /* threads of one that a runtime may bring */

/* As its group counts them: those of the code, init, init's own, and its thread if that attaches. */
uint64_t container_processes(const struct keeper_make *make, bool attaches);
uint64_t container_processes_least(enum docker_transport transport);

/* Each waits for the engine, see api.h. */
int container_create(const struct container_spec *spec, char ret[REPLY_ID_MAX], struct cella_err *err);
int container_start(const char *socket, const char *id, struct cella_err *err);
int container_pause(const char *socket, const char *id, bool pause, struct cella_err *err);
int container_inspect(const char *socket, const char *id, struct reply_state *ret, struct cella_err *err);
int container_stats(const char *socket, const char *id, struct keeper_counted *ret, struct cella_err *err);

/* Has the engine lower what was begun with more; whether it did is for the kernel to say (usage.h). */
void container_tighten(const char *socket, const char *id, uint64_t memory_bytes, uint64_t processes);

/* SIGKILL to everything in it; one that is gone already is fine. */
int container_kill(const char *socket, const char *id, struct cella_err *err);
/* The same, and nothing is left of it. */
int container_remove(const char *socket, const char *id, struct cella_err *err);

/* Words for an answer that is no success: what could not be done, and what the engine says of it. */
int container_refused(struct api_answer *answer, const char *what, struct cella_err *err);
