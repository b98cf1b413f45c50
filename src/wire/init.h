/* wire/init.h -- what a sandbox's owner says to its init, and init's answers.
 *
 * First init raises the walls around itself: INIT_BUILD, INIT_GROUPS, INIT_GO, in this
 * order, and INIT_READY when it is done.  Then it serves, one request at a time, except
 * that INIT_SIGNAL may come at any moment and has no answer.  All of it is for processes
 * of one machine and one build: native byte order.  No struct has holes: what was on the
 * sender's stack is nobody's business on the other side. */
#pragma once
#include <stdint.h>

#include "cella.h"

#define INIT_CONTROL_FD 3 /* where init finds the socket */
#define INIT_FREE_FD 16   /* descriptors handed down across the exec are not below this */
#define INIT_MOUNTS_MAX 65
#define INIT_REQUEST_MAX (4u * 1024 * 1024) /* arguments, environment, a file */
#define INIT_STRINGS_MAX 4096u              /* arguments and variables */
#define INIT_REPLY_MAX 8192u
#define INIT_FILES_MAX 1000u /* changed files told of */

enum init_request {
        INIT_BUILD = 1, /* struct init_build, struct init_mount for each, their strings */
        /* What the owner makes while the view is being built: */
        INIT_GROUPS,   /* struct init_groups; descriptors: cgroup files to write 0 to */
        INIT_GO,       /* descriptors: the network namespace, if the owner could make one */
        INIT_PUT_FILE, /* struct init_put_file, name, content */
        INIT_SPAWN,    /* struct init_spawn, strings; descriptors: stdin, stdout, stderr */
        INIT_SIGNAL,   /* int32_t: to every process but init */
        INIT_LIST,     /* struct init_list: files of the workspace that changed */
};

enum init_reply {
        INIT_READY = 100, /* uint32_t: the walls that stand; init waits */
        INIT_FAILED,      /* struct cella_err: the request was not carried out */
        INIT_DONE,
        INIT_EXITED, /* struct init_exited; every process of the run is gone */
        INIT_FILE,   /* struct init_file, path */
};

struct init_build {
        uint32_t walls;
        uint32_t privileged;
        uint32_t inner_uid;
        uint32_t host_uid, host_gid; /* without privilege; else see init_groups */
        uint32_t n_mounts;
        struct cella_limits limits; /* has a hole at its end: filled in from zeroed memory */
};

struct init_mount {
        uint32_t writable;
        int32_t idmap_fd; /* handed down across the exec; -1: none */
        /* its strings: source, target, each ending in NUL */
};

struct init_groups {
        uint32_t walls;
        uint32_t host_uid, host_gid;
        uint32_t limit_processes_by_rlimit;
};

_Static_assert(sizeof(struct init_build) == 6 * 4 + sizeof(struct cella_limits), "no holes");

struct init_put_file {
        uint32_t mode;
        uint32_t name_len; /* a single component, in /run */
};

struct init_spawn {
        uint32_t argc;
        uint32_t envc;
        uint32_t final; /* exit when it has ended: nothing more is going to be asked */
        /* then, each ending in NUL: cwd, argv[0..argc), env[0..envc) */
};

struct init_exited {
        int32_t wait_status; /* as from wait() */
        uint32_t reserved;
        uint64_t cpu_us;
        uint64_t rss_peak_bytes;
        uint64_t disk_bytes_free;
        uint64_t disk_inodes_free;
};

struct init_list {
        uint64_t since_ns;  /* realtime; older files did not change */
        uint32_t all_added; /* the workspace was empty before */
        uint32_t reserved;
};

struct init_file {
        uint64_t bytes;
        uint32_t added; /* else modified */
        uint32_t reserved;
};

_Static_assert(sizeof(struct init_exited) == 8 + 4 * 8, "no holes");
_Static_assert(sizeof(struct init_list) == 16 && sizeof(struct init_file) == 16, "no holes");
