/* wire/docker.h -- what is asked of cella-docker, the engine whose sandboxes are containers.
 *
 * It speaks the keeper's protocol (wire/keeper.h), so that whoever asks for sandboxes need not care who makes
 * them: only the beginning, what may come with KEEPER_MAKE, and its answer are others.  KEEPER_READY and
 * KEEPER_DROP it does not know. */
#pragma once
#include "wire/keeper.h"

#define DOCKER_CONTROL_FD 3 /* where it finds the socket */
#define DOCKER_HOME                                                                                          \
        "-docker" /* behind the name of the state directory, in which all is the server's: its own */
#define DOCKER_SOCKET_MAX 108 /* of a path */
#define DOCKER_RUNTIME_MAX 64 /* of a name */
#define DOCKER_MOUNTS_MAX 64
#define DOCKER_MAKE_MAX 65536u /* a KEEPER_MAKE with its mounts */
#define DOCKER_IMAGE_MAX 49152u

/* Capabilities that it keeps if root starts it: to enter a container's network namespace, and to make the way
 * out there (docker/network.h).  CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_SYS_ADMIN. */
#define DOCKER_CAPABILITIES (1u << 10 | 1u << 12 | 1u << 21)

enum docker_request {
        DOCKER_OPEN = 50, /* struct docker_open: the first, and again when the settings change.
                           * DOCKER_OPENED, or KEEPER_FAILED with what a person can do about it */
        /* KEEPER_MAKE: `image` is a reference and not empty; `uid` and `gid` are the image's business, and
         * `direct` is not to be had here; `reserved` is 1 if an image that is
         * missing may be pulled.  Behind the struct there may be mounts, unless a server asks: for
         * each the letter r or w and the source, NUL, the target, NUL.  DOCKER_MADE or KEEPER_FAILED. */
};

enum docker_reply {
        DOCKER_OPENED = 150, /* struct docker_opened */
        DOCKER_MADE, /* struct docker_made, then the document about the image (image/store/store.h), at most
                      * DOCKER_IMAGE_MAX bytes; descriptor: as with KEEPER_MADE */
};

/* How init and its owner talk. */
enum docker_transport {
        DOCKER_AUTO,   /* by the socket; with a runtime that may have a kernel of its own, as that allows */
        DOCKER_SOCKET, /* a socket that is shown in the container */
        DOCKER_ATTACH, /* the engine's own stream to the container's standard input and output */
};

struct docker_open {
        uint32_t type, number;
        uint32_t transport; /* enum docker_transport */
        uint32_t reserved;
        char socket[DOCKER_SOCKET_MAX];   /* "": where there is one */
        char runtime[DOCKER_RUNTIME_MAX]; /* "": the engine's own choice */
};

/* What is at the other end. */
struct docker_opened {
        uint32_t type, number;
        uint32_t podman;    /* else Docker */
        uint32_t rootless;  /* its containers have a user namespace around them */
        uint32_t cgroup;    /* the version of control groups: 1 or 2; 0: it does not say */
        uint32_t transport; /* enum docker_transport.  DOCKER_AUTO: each container has both, and init's choice
                             */
        char version[32];
        char api[16];
        char socket[DOCKER_SOCKET_MAX];
        char runtime[DOCKER_RUNTIME_MAX]; /* that is going to be used */
        char runtimes[256];               /* those it knows, with spaces between */
};

struct docker_made {
        struct keeper_made made; /* its type is DOCKER_MADE */
        char image[68];          /* its id, 64 digits */
        uint32_t len;            /* of the document that follows */
};

_Static_assert(sizeof(struct docker_open) == 16 + DOCKER_SOCKET_MAX + DOCKER_RUNTIME_MAX, "no holes");
_Static_assert(sizeof(struct docker_opened) == 24 + 48 + DOCKER_SOCKET_MAX + DOCKER_RUNTIME_MAX + 256,
               "no holes");
_Static_assert(sizeof(struct docker_made) == sizeof(struct keeper_made) + 72, "no holes");
