/* wire/keeper.h -- requests of the server to the keeper, and the keeper's replies.
 *
 * The transport is a SOCK_SEQPACKET pair: one message per packet, of exactly the size of its type's struct
 * (KEEPER_MAKE: and of the mounts behind it).
 * The keeper does not trust its input: a packet of another size, an unknown type, an unknown sandbox or a
 * string without a terminating NUL closes the connection and ends every sandbox.  The server numbers its
 * requests; a reply has the number of its request.  Native byte order; no padding in the structs. */
#pragma once
#include <stdint.h>
#include <string.h>

#include "cella.h"

#define KEEPER_SANDBOXES_MAX 4096 /* of the keeper, and of each worker */
#define KEEPER_WORKERS_MAX 31
#define KEEPER_NAME_MAX 64
#define KEEPER_PATH_MAX 1024
#define KEEPER_MOUNTS_MAX 8
#define KEEPER_MOUNTS_BYTES (KEEPER_MOUNTS_MAX * (1 + KEEPER_PATH_MAX + 256))
#define KEEPER_IMAGE_MAX 400 /* the longest reference; native engine: an id of 64 digits */

enum keeper_request {
        KEEPER_MAKE = 1, /* struct keeper_make: KEEPER_MADE or KEEPER_FAILED */
        /* All others: struct keeper_about. */
        KEEPER_END,           /* kills and removes the sandbox: KEEPER_ENDED */
        KEEPER_KILL,          /* kills all processes; no reply (KEEPER_DIED follows) */
        KEEPER_COUNT,         /* KEEPER_COUNTED */
        KEEPER_THROTTLE,      /* applies the CPU limit, see cgroup_throttle(); no reply */
        KEEPER_UNTHROTTLE,    /* no reply */
        KEEPER_FREEZE,        /* KEEPER_DONE when all processes are stopped, or KEEPER_FAILED */
        KEEPER_THAW,          /* KEEPER_DONE or KEEPER_FAILED */
        KEEPER_READY,         /* no sandbox: the server accepts requests from now on; no reply */
        KEEPER_DROP,          /* struct keeper_drop: a persistent workspace is no longer needed; no reply */
        KEEPER_IMAGER_WANTED, /* no sandbox: KEEPER_IMAGER or KEEPER_FAILED.  A socket that the server got
                                 before becomes useless */
        KEEPER_DOCKER_WANTED, /* same: KEEPER_DOCKER or KEEPER_FAILED */
        KEEPER_CHECK_ROOT,    /* struct keeper_root: KEEPER_DONE if the directory can contain workspaces of
                                 agents, or KEEPER_FAILED */
        KEEPER_LIMITS,        /* struct keeper_limits: changes limits of a live sandbox.  KEEPER_DONE or
                                KEEPER_FAILED; then the limits are as before */
        KEEPER_PING,          /* no sandbox: KEEPER_DONE */
};

enum keeper_reply {
        KEEPER_MADE = 100, /* struct keeper_made; descriptors: the control socket, see wire/init.h, and the
                              counters.  init is still building the isolation; it sends INIT_READY or
                              INIT_FAILED on the control socket */
        KEEPER_FAILED,     /* struct keeper_failed */
        KEEPER_ENDED,      /* struct keeper_about */
        KEEPER_COUNTED,    /* struct keeper_counted */
        KEEPER_DONE,       /* struct keeper_about */
        KEEPER_IMAGER,     /* struct keeper_about; descriptor: the socket of cella-image, see wire/imager.h */
        KEEPER_DOCKER, /* struct keeper_about; descriptor: the socket of cella-docker, see wire/docker.h */
        /* Unsolicited; number 0: */
        KEEPER_DIED,   /* struct keeper_about: init is dead.  The server must still send KEEPER_END. */
        KEEPER_STOP,   /* struct keeper_about: the operator wants the server to shut down */
        KEEPER_RELOAD, /* struct keeper_about: the server must reload the settings */
        KEEPER_EGRESS, /* struct keeper_about; descriptor: the socket of a new egress process, see
                          wire/egress.h.  Sent first, and again after an egress process has died */
        KEEPER_WORKER, /* struct keeper_about, sandbox: the index of a worker; descriptor: the socket to a new
                          worker, which makes sandboxes by this protocol and serves no other requests.  The
                          worker with this index that the server had before is dead */
};

enum keeper_workspace {
        KEEPER_SCRATCH,    /* private, removed with the sandbox */
        KEEPER_PERSISTENT, /* kept in the state directory as `name`: a volume if the host supports it, marked
                              by workspaces/`name`; otherwise that directory */
        KEEPER_READ_ONLY,  /* `root`/`name`, a directory of the host, which must exist */
        KEEPER_READ_WRITE, /* the same; it is made if it does not exist */
};

struct keeper_make {
        uint32_t type, number;
        uint32_t required;  /* CELLA_LIMIT_* */
        uint32_t workspace; /* enum keeper_workspace */
        uint32_t user_root;
        uint32_t mounts_len; /* so many bytes follow the struct: further directories, see wire/mounts.h */
        uint32_t long_lived; /* can be frozen; takes 0.1 ms longer to create */
        uint32_t network;    /* has a network, see INIT_NETWORK */
        uint32_t direct;   /* no isolation except limits: the host's files and network (mode "off"), as a user
                              that owns nothing if the keeper is root.  Scratch workspace, no network, not
                              long-lived */
        uint32_t uid, gid; /* the code's user inside if there is an image; otherwise 0 */
        uint32_t pulls;    /* the image may be pulled; only cella-docker */
        char id[32];       /* sbx_..., for messages and logs */
        char name[KEEPER_NAME_MAX]; /* one path component: letters, digits, - _ and, not as the first
                                       character, . */
        char root[KEEPER_PATH_MAX]; /* absolute; must be one of the directories that the operator allowed, or
                                       below it */
        char image[KEEPER_IMAGE_MAX]; /* "": a view of this machine */
        struct cella_limits limits;   /* copied into zeroed memory */
};

/* KEEPER_MAKE with mounts; mounts_len bytes of them are sent. */
struct keeper_make_mounts {
        struct keeper_make make;
        char mounts[KEEPER_MOUNTS_BYTES];
};

struct keeper_about {
        uint32_t type, number;
        uint32_t sandbox; /* handle from KEEPER_MADE */
        uint32_t reserved;
};

struct keeper_limits {
        struct keeper_about about;
        uint64_t memory_bytes; /* 0: this limit is not changed */
        uint32_t processes, cpus_milli;
};

struct keeper_drop {
        uint32_t type, number;
        char name[KEEPER_NAME_MAX];
};

struct keeper_root {
        uint32_t type, number;
        char root[KEEPER_PATH_MAX]; /* absolute */
};

/* What the keeper has done with control groups since it started. */
struct keeper_groups {
        uint32_t made;    /* the sum of those made ahead and those made for a sandbox */
        uint32_t reused;  /* sandboxes that got the group of an ended one */
        uint32_t removed; /* without those that the keeper removes when it ends */
};

struct keeper_made {
        uint32_t type, number;
        uint32_t sandbox;       /* handle, never reused by this keeper */
        uint32_t missing;       /* CELLA_LIMIT_* that this host cannot enforce */
        uint32_t counted;       /* the sandbox has a cgroup */
        uint32_t counters;      /* set of 1 << enum counter: the files attached, in this order.  0: use
                                   KEEPER_COUNT */
        uint64_t cpu_us_before; /* see struct counters */
        uint32_t counters_v2;   /* the files are those of cgroup v2 */
        struct keeper_groups groups;
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
        int64_t read_us; /* clock_us() just before the counters were read; 0: not read */
};

enum { KEEPER_KNOWS_CPU = 1, KEEPER_KNOWS_MEMORY = 2, KEEPER_KNOWS_PROCESSES = 4 };

_Static_assert(sizeof(struct keeper_make) == 12 * 4 + 32 + KEEPER_NAME_MAX + KEEPER_PATH_MAX +
                                                     KEEPER_IMAGE_MAX + sizeof(struct cella_limits),
               "no holes");
_Static_assert(sizeof(struct keeper_about) == 16 && sizeof(struct keeper_made) == 48 &&
                       sizeof(struct keeper_limits) == 32,
               "no holes");
_Static_assert(sizeof(struct keeper_counted) == 16 + 5 * 8 + 8 + 8, "no holes");

/* ---- checks of a packet, for those who receive it ---- */

/* Whether the text ends within its field. */
static inline bool keeper_text_ends(const char *text, size_t size)
{
        return memchr(text, '\0', size) != NULL;
}

/* Whether name is a single path component, cannot be taken for an option and is not a hidden file. */
static inline bool keeper_name_is_valid(const char *name)
{
        static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
        return name[0] && name[0] != '.' && name[strspn(name, good)] == '\0';
}
