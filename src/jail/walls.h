/* jail/walls.h -- the walls (isolation mechanisms) of a sandbox, one bit each.
 *
 * In production all of them are used.  The bits tell which ones stand ("isolation" in a result).  Attack
 * tests use them to remove one wall and show that their attack then succeeds. */
#pragma once
#include <stdint.h>

enum wall {
        WALL_USER = 1u << 0,         /* unprivileged uid, own user namespace, no capabilities */
        WALL_PID = 1u << 1,          /* own process ids */
        WALL_MOUNT = 1u << 2,        /* own root view (and the Landlock rules derived from it) */
        WALL_NET = 1u << 3,          /* own network namespace */
        WALL_IPC = 1u << 4,          /* own System V and POSIX IPC */
        WALL_UTS = 1u << 5,          /* own host name */
        WALL_CGROUP = 1u << 6,       /* memory, processes, CPU */
        WALL_SECCOMP = 1u << 7,      /* allowlist of system calls */
        WALL_LANDLOCK = 1u << 8,     /* the file rules again, by another mechanism */
        WALL_NO_NEW_PRIVS = 1u << 9, /* and nosuid on every mount */
        WALL_RLIMIT = 1u << 10,
        WALL_HYGIENE = 1u << 11, /* descriptors, environment, session, keyring */
        WALL_PROC = 1u << 12,    /* read-only and masked /proc */
};

/* Not a wall: reported together with them by a sandbox that has several users (jail/spec.h, n_ids). */
#define WALLS_SEVERAL_USERS (1u << 28)
