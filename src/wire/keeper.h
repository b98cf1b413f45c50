/* wire/keeper.h -- what the server asks of the keeper, and the keeper's answers.
 *
 * A SOCK_SEQPACKET pair: one message, one packet, of exactly the size of its type's struct.
 * The keeper believes nothing it reads: a packet of another size, an unknown type, a sandbox
 * that is not there, a string without an end close the connection, and with it every sandbox.
 * The server numbers its requests; the answer carries the number.  Native byte order; no
 * holes. */
#pragma once
#include <stdint.h>

#include "cella.h"

#define KEEPER_SANDBOXES_MAX 4096
#define KEEPER_NAME_MAX 64
#define KEEPER_PATH_MAX 1024
#define KEEPER_IMAGE_MAX 400 /* a whole reference fits; the native engine takes an id, 64 hex digits */

enum keeper_request {
        KEEPER_MAKE = 1, /* struct keeper_make: KEEPER_MADE or KEEPER_FAILED */
        /* All others: struct keeper_about. */
        KEEPER_END,        /* kills and removes it: KEEPER_ENDED */
        KEEPER_KILL,       /* kills everything in it; no answer (KEEPER_DIED follows) */
        KEEPER_COUNT,      /* KEEPER_COUNTED */
        KEEPER_THROTTLE,   /* applies its CPU limit, see cgroup_throttle(); no answer */
        KEEPER_UNTHROTTLE, /* no answer */
        KEEPER_FREEZE,     /* KEEPER_DONE when nothing in it runs any more, or KEEPER_FAILED */
        KEEPER_THAW,       /* KEEPER_DONE or KEEPER_FAILED */
        KEEPER_READY,      /* about no sandbox: the server takes requests now; no answer */
        KEEPER_DROP,       /* struct keeper_drop: a persistent workspace is not wanted any more; no answer */
        KEEPER_IMAGER_WANTED, /* about no sandbox: KEEPER_IMAGER or KEEPER_FAILED.  The one before, if the
                               * server had one, is of no more use to it */
        KEEPER_DOCKER_WANTED, /* the same: KEEPER_DOCKER or KEEPER_FAILED */
};

enum keeper_reply {
        KEEPER_MADE = 100, /* struct keeper_made; descriptors: the control socket, see wire/init.h, and
                            * counters.  The walls are under way; INIT_READY or INIT_FAILED comes there. */
        KEEPER_FAILED,     /* struct keeper_failed */
        KEEPER_ENDED,      /* struct keeper_about */
        KEEPER_COUNTED,    /* struct keeper_counted */
        KEEPER_DONE,       /* struct keeper_about */
        KEEPER_IMAGER,     /* struct keeper_about; descriptor: the socket of cella-image, see wire/imager.h */
        KEEPER_DOCKER, /* struct keeper_about; descriptor: the socket of cella-docker, see wire/docker.h */
        /* Not asked for; number 0: */
        KEEPER_DIED,   /* struct keeper_about: its init is gone.  It still has to be ended. */
        KEEPER_STOP,   /* struct keeper_about: shut down, the operator said so */
        KEEPER_RELOAD, /* struct keeper_about: read the settings again */
        KEEPER_EGRESS, /* struct keeper_about; descriptor: the socket of a new egress process, see
                        * wire/egress.h. Comes first, and again when the last one has died */
};

enum keeper_workspace {
        KEEPER_SCRATCH,    /* private and gone with the sandbox */
        KEEPER_PERSISTENT, /* kept in the state directory under `name`: a volume where there can be some,
                            * with workspaces/`name` as its mark; else that directory itself */
        KEEPER_READ_ONLY,  /* `root`/`name`, a directory of the host */
        KEEPER_READ_WRITE,
};

struct keeper_make {
        uint32_t type, number;
        uint32_t required;  /* CELLA_LIMIT_* */
        uint32_t workspace; /* enum keeper_workspace */
        uint32_t user_root;
        uint32_t terminals;
        uint32_t long_lived; /* it can be frozen; 0.1 ms more to make */
        uint32_t network;    /* it gets a way out, see INIT_NETWORK */
        uint32_t direct;   /* no walls but limits: the host's files and network (mode "off").  As a user that
                            * owns nothing, if the keeper is root.  Scratch workspace, no network, not
                            * long-lived */
        uint32_t uid, gid; /* who the code is inside, where there is an image; without one: zero */
        uint32_t pulls;    /* the image may be fetched; by cella-docker only */
        char id[32];       /* sbx_..., for messages and logs */
        char name[KEEPER_NAME_MAX];   /* one path component: letters, digits, - _ . not in front */
        char root[KEEPER_PATH_MAX];   /* absolute; must be in or below what the operator allowed */
        char image[KEEPER_IMAGE_MAX]; /* "": a view of this machine */
        struct cella_limits limits;   /* filled in from zeroed memory */
};

struct keeper_about {
        uint32_t type, number;
        uint32_t sandbox; /* handle from KEEPER_MADE */
        uint32_t reserved;
};

struct keeper_drop {
        uint32_t type, number;
        char name[KEEPER_NAME_MAX];
};

struct keeper_made {
        uint32_t type, number;
        uint32_t sandbox;       /* the handle: of no other sandbox while the keeper lives */
        uint32_t missing;       /* CELLA_LIMIT_* that this host cannot enforce */
        uint32_t counted;       /* it has a cgroup */
        uint32_t counters;      /* whose files come with it, in this order: 1 << enum counter.  None: ask */
        uint64_t cpu_us_before; /* see struct counters */
};

struct keeper_failed {
        uint32_t type, number;
        struct cella_err err;
};

struct keeper_counted {
        uint32_t type, number;
        uint32_t sandbox;
        uint32_t known; /* KEEPER_KNOWS_* */
        uint64_t cpu_us;
        uint64_t memory_bytes, memory_peak_bytes;
        uint64_t oom_kills, forks_refused;
        uint32_t processes, processes_peak;
        int64_t read_us; /* clock_us() just before they were read; 0: nobody has */
};

enum { KEEPER_KNOWS_CPU = 1, KEEPER_KNOWS_MEMORY = 2, KEEPER_KNOWS_PROCESSES = 4 };

_Static_assert(sizeof(struct keeper_make) == 12 * 4 + 32 + KEEPER_NAME_MAX + KEEPER_PATH_MAX +
                                                     KEEPER_IMAGE_MAX + sizeof(struct cella_limits),
               "no holes");
_Static_assert(sizeof(struct keeper_about) == 16 && sizeof(struct keeper_made) == 32, "no holes");
_Static_assert(sizeof(struct keeper_counted) == 16 + 5 * 8 + 8 + 8, "no holes");
