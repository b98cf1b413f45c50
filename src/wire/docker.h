/* wire/docker.h -- requests to cella-docker, the engine whose sandboxes are containers.
 *
 * It uses the keeper's protocol (wire/keeper.h), so that a client can use either.  The differences are the
 * first request, the data that may follow KEEPER_MAKE, and its reply.  KEEPER_DROP removes a volume and is
 * answered by KEEPER_DONE or KEEPER_FAILED.  KEEPER_READY is not supported.  KEEPER_LIMITS has all three
 * limits, also those that stay. */
#pragma once
#include <stdlib.h>

#include "wire/keeper.h"

#define DOCKER_CONTROL_FD 3   /* the socket in cella-docker */
#define DOCKER_HOME "-docker" /* suffix of the state directory's name: cella-docker's directory */
#define DOCKER_SOCKET_MAX 108 /* length of a path */
#define DOCKER_RUNTIME_MAX 64 /* length of a name */
#define DOCKER_MOUNTS_MAX 64
#define DOCKER_MAKE_MAX 65536u /* KEEPER_MAKE with its mounts */
#define DOCKER_IMAGE_MAX 49152u
/* The oldest versions that are supported.  Older ones are used, with a warning. */
#define DOCKER_OLDEST 24
#define PODMAN_OLDEST 4

/* Capabilities that it keeps if it is started by root, to enter a container's network namespace and to set
 * up the network there (docker/network.h): CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_SYS_ADMIN. */
#define DOCKER_CAPABILITIES (1u << 10 | 1u << 12 | 1u << 21)

enum docker_request {
        DOCKER_OPEN = 50, /* struct docker_open: the first request, repeated when the settings change.  Reply:
                             DOCKER_OPENED, or KEEPER_FAILED with a hint for the user */
        /* KEEPER_MAKE: `image` is a reference and not empty; `uid` and `gid` are ignored, because the image
         * defines the user; `direct` is not supported; `pulls` is 1 if a missing image may be pulled.
         * The server's mounts are checked (jail/workspace.h); its persistent workspace is a volume of the
         * engine.  Another client has up to DOCKER_MOUNTS_MAX mounts of its choice, and no workspace.  Reply:
         * DOCKER_MADE or KEEPER_FAILED. */
};

enum docker_reply {
        DOCKER_OPENED = 150, /* struct docker_opened */
        DOCKER_MADE, /* struct docker_made, then the document about the image (image/store/store.h) of at most
                        DOCKER_IMAGE_MAX bytes; descriptor: as with KEEPER_MADE */
};

/* How init and its owner communicate. */
enum docker_transport {
        DOCKER_AUTO,   /* by socket; a runtime that may have its own kernel: whichever works */
        DOCKER_SOCKET, /* a socket that is mounted into the container */
        DOCKER_ATTACH, /* the engine's stream to the container's standard input and output */
};

struct docker_open {
        uint32_t type, number;
        uint32_t transport; /* enum docker_transport */
        uint32_t reserved;
        char socket[DOCKER_SOCKET_MAX];   /* "": search the usual places */
        char runtime[DOCKER_RUNTIME_MAX]; /* "": the engine's default */
};

/* Describes the engine that was found. */
struct docker_opened {
        uint32_t type, number;
        uint32_t podman;    /* 0: Docker */
        uint32_t rootless;  /* its containers are in a user namespace */
        uint32_t cgroup;    /* cgroup version: 1 or 2; 0: unknown */
        uint32_t transport; /* enum docker_transport.  DOCKER_AUTO: each container gets both and init chooses
                             */
        char version[32];
        char api[16];
        char socket[DOCKER_SOCKET_MAX];
        char runtime[DOCKER_RUNTIME_MAX]; /* that will be used */
        char runtimes[256];               /* available ones, separated by spaces */
};

struct docker_made {
        struct keeper_made made; /* type is DOCKER_MADE */
        char image[68];          /* image id, 64 digits */
        uint32_t len;            /* length of the document that follows */
};

_Static_assert(sizeof(struct docker_open) == 16 + DOCKER_SOCKET_MAX + DOCKER_RUNTIME_MAX, "no holes");
_Static_assert(sizeof(struct docker_opened) == 24 + 48 + DOCKER_SOCKET_MAX + DOCKER_RUNTIME_MAX + 256,
               "no holes");
_Static_assert(sizeof(struct docker_made) == sizeof(struct keeper_made) + 72, "no holes");

/* Returns the oldest supported version if the engine is older, otherwise 0, also for a version that is not a
 * number. */
static inline int docker_needs_version(const struct docker_opened *engine)
{
        const int oldest = engine->podman ? PODMAN_OLDEST : DOCKER_OLDEST, major = atoi(engine->version);
        return major > 0 && major < oldest ? oldest : 0;
}
