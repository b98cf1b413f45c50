/* wire/init.h -- requests of a sandbox's owner to its init, and init's replies.
 *
 * First, init isolates itself: INIT_BUILD, INIT_GROUPS, INIT_GO, in this order, or all in one message
 * (`together`), and INIT_READY when it has finished.  Then it serves requests.  The owner chooses a tag for
 * each request (not 0); its replies have the same tag.  Several commands and file operations can be active
 * at once.  INIT_SIGNAL has no reply.  Both processes are on one machine and from one build: native byte
 * order.  No struct has padding, so that no bytes of the sender's stack are leaked. */
#pragma once
#include <stdint.h>

#include "cella.h"

#define INIT_CONTROL_FD 3 /* the socket in init */
#define INIT_FREE_FD 16   /* descriptors inherited across the exec are not below this */
#define INIT_MOUNTS_MAX 66
#define INIT_REQUEST_MAX (4u * 1024 * 1024) /* arguments, environment, a file */
#define INIT_STRINGS_MAX 4096u              /* arguments and variables */
#define INIT_REPLY_MAX 8192u
#define INIT_FILES_MAX 1000u /* changed files reported */
#define INIT_TASKS_MAX 256u  /* concurrent commands and file operations; more: -EAGAIN */
#define INIT_PATH_MAX 4096u

enum init_request {
        INIT_BUILD =
                1, /* struct init_build, a struct init_mount for each mount, their strings; descriptors: see
                      view; if `together`, also those of INIT_GROUPS and INIT_GO, which are not sent then */
        /* Resources that the owner creates while init builds the view, unless they are ready: */
        INIT_GROUPS, /* struct init_groups; descriptors: cgroup files to write 0 to, then the user namespace,
                        if any */
        INIT_GO,     /* descriptors: the network namespace, if the owner could create one */
        INIT_PUT_FILE, /* struct init_put_file, name, content; INIT_DONE or INIT_FAILED */
        /* struct init_spawn, strings; descriptors: stdin, stdout, stderr, then those that the command gets
         * from 3 on; none with INIT_TERMINAL.  INIT_STARTED (if requested), then INIT_EXITED; or
         * INIT_FAILED. */
        INIT_SPAWN,
        INIT_SIGNAL, /* struct init_signal */
        INIT_LIST,   /* struct init_list: INIT_FILE for each changed file, then INIT_DONE */
        /* struct init_operate, strings; descriptor: the operation's data.  INIT_EXITED with an errno as
         * exit code, or 0; INIT_FAILED if it could not be started. */
        INIT_OPERATE,
        INIT_FORGET,   /* report refused calls again that were reported already, as after INIT_SPAWN: for new
                          code in an existing process.  No reply */
        INIT_ATTEMPTS, /* INIT_UNREACHED, if something tried to use the network since the last INIT_SPAWN or
                          INIT_ATTEMPTS and there is none; then INIT_DONE with struct init_room.  For code
                          that failed in an existing process.  Tag 0, for code that did not fail: no
                          reply */
        INIT_JOIN,  /* struct init_join and the container's writable mounts, as in wire/mounts.h, with "/" as
                       the source: instead of all requests up to INIT_GO, for an init in a container that
                       another program has created.  Descriptors: none, or those of INIT_NETWORK, which init
                       sends back.  INIT_READY or INIT_FAILED */
        INIT_PLACE, /* before INIT_JOIN: INIT_DONE; descriptor: init's network namespace */
};

enum init_reply {
        INIT_READY = 100, /* struct init_ready; init waits for requests */
        INIT_FAILED,      /* struct cella_err: the request has failed */
        INIT_DONE,
        INIT_EXITED,  /* struct init_exited; all processes of the command are gone */
        INIT_FILE,    /* struct init_file, path */
        INIT_STARTED, /* int32_t: the command's pid inside; descriptor: the terminal's master, if any */
        /* Unsolicited; tag 0: */
        INIT_NETWORK, /* descriptors: the TCP listener for all connections and the UDP socket for all DNS
                         queries; see wire/egress.h */
        INIT_VIEW,    /* on the socket that came with INIT_BUILD, with its tag; descriptor: a mount namespace
                         that is not modified any more */
        INIT_REFUSED, /* struct init_refused: the filter refused a system call that is worth reporting.  At
                         most INIT_REFUSED_MAX different ones after each INIT_SPAWN, each once, before its
                         INIT_EXITED.  With several commands, it cannot be attributed to one of them */
        INIT_UNREACHED, /* nothing: before the INIT_EXITED of a command that failed, or the INIT_DONE of
                           INIT_ATTEMPTS.  Something in the sandbox tried to reach an address outside, and
                           there is no network */
};

#define INIT_REFUSED_MAX 32u

struct init_ready {
        uint32_t walls; /* those in place */
        uint32_t reserved;
        int64_t at_us;   /* CLOCK_MONOTONIC.  No command is started before this time */
        uint64_t cpu_us; /* CPU time that init has used inside the sandbox's cgroups, which is not part of a
                            command's */
};

struct init_refused {
        char target[48]; /* "mount" */
        char detail[80]; /* "system call refused" */
};

struct init_groups {
        uint32_t walls;
        uint32_t host_uid, host_gid;
        uint32_t limit_processes_by_rlimit;
        uint32_t has_user; /* the last descriptor is a user namespace that maps inner_uid to host_uid */
        uint32_t n_ids;    /* see jail/spec.h */
        uint32_t set_id;
};

struct init_build {
        uint32_t walls;
        uint32_t privileged;
        uint32_t inner_uid, inner_gid;
        uint32_t host_uid, host_gid; /* without privilege; otherwise see init_groups */
        uint32_t n_mounts;
        uint32_t several; /* expect concurrent commands: init sees every process, also those that hide from
                             others, so that none can escape a kill.  Takes 20 us longer */
        uint32_t network; /* the sandbox gets a network: INIT_NETWORK is sent before INIT_READY */
        uint32_t direct;  /* the code runs on the host, see jail/spec.h */
        uint32_t view;    /* enum jail_view; except for the sandbox's own view, the descriptor is its view_fd,
                             where init sends INIT_VIEW with a view that is to be kept */
        uint32_t together;         /* the following fields and their descriptors are included: */
        uint32_t has_netns;        /* the last descriptor is the network namespace */
        struct init_groups groups; /* zero unless together */
        uint64_t ignored; /* signals that the owner ignores and the code must not: bit 0 is signal 1 */
        struct cella_limits limits; /* has padding at its end: copied into zeroed memory */
};

struct init_mount {
        uint32_t writable;
        int32_t idmap_fd; /* inherited across the exec; -1: none */
        int32_t tree_fd;  /* same: the source as a detached mount; -1: use its path */
        uint32_t reserved;
        /* its strings: source, target, each terminated by NUL.  Target "/": an image's root */
};

/* Namespaces in the order of init_join.outside. */
enum init_namespace {
        INIT_NS_USER,
        INIT_NS_PID,
        INIT_NS_MOUNT,
        INIT_NS_NET,
        INIT_NS_IPC,
        INIT_NS_UTS,
        INIT_NS_CGROUP,
        INIT_NS_COUNT,
};

#define INIT_NO_SOCKET 111 /* init's exit code if it finds no owner: no connection is possible */

struct init_join {
        uint32_t walls;                  /* to be found in place, or to be set up */
        uint32_t reserved;               /* 0 */
        uint64_t outside[INIT_NS_COUNT]; /* inodes of the owner's namespaces: init must not be in them */
        char kernel[72];                 /* the owner's kernel: the version that uname() returns */
        struct cella_limits limits;      /* copied into zeroed memory */
};

_Static_assert(sizeof(struct init_join) == 80 + 8 * INIT_NS_COUNT + sizeof(struct cella_limits), "no holes");

_Static_assert(sizeof(struct init_build) == 20 * 4 + 8 + sizeof(struct cella_limits), "no holes");

struct init_put_file {
        uint32_t mode;     /* with INIT_IN_WORKSPACE: in the workspace, otherwise in /run */
        uint32_t name_len; /* one path component */
};

#define INIT_IN_WORKSPACE (1u << 16)

enum init_spawn_flag {
        INIT_FINAL = 1u << 0, /* init exits when the command has ended, because no request follows.  It must
                                 be the only command, and its end is the end of every process */
        INIT_TELL_STARTED = 1u << 1,
        INIT_TERMINAL = 1u << 2, /* on a new terminal, whose master is sent with INIT_STARTED even if that was
                                    not requested; -ENODEV: not possible in this sandbox */
        INIT_ALONE = 1u << 3, /* as INIT_FINAL, but init stays.  It starts no supervisor, which is faster, and
                                 accepts no other command (-EBUSY) */
        INIT_PROGRAM = 1u << 4, /* the last descriptor is the program; argv[0] is only its name */
        INIT_LIST_ADDED =
                1u
                << 5, /* with INIT_ALONE: after the end, init sends INIT_FILE for each file in the workspace
                         and INIT_DONE before INIT_EXITED without a request, or sets none_added */
        INIT_ANNOUNCES =
                1u << 6,     /* with INIT_ALONE: the command may announce its exit (sys/ending.h).  Then
                                INIT_EXITED is sent at once, without rss_peak_bytes, before the process is dead */
        INIT_MADE = 1u << 7, /* argv[0] is a file that the first command creates; removed with the command */
};

/* With first_argc, another command (the compiler) runs first, in the same process group, with empty
 * standard input and with both outputs to standard error.  If it fails, its result is the command's.
 *
 * With check_argc, a certain version of a program is required: if PATH has no program of the name argv[0]
 * (or first_argv[0], if there is a first command), check_argv[0] is used if it reports that version when it
 * is run with check_argv.  Otherwise the command is "not found". */
struct init_spawn {
        uint32_t argc;
        uint32_t envc;
        uint32_t flags;
        uint16_t columns, rows; /* of the terminal */
        uint32_t first_argc;    /* 0: no first command */
        uint32_t first_envc;    /* added to the environment of the first command */
        uint32_t check_argc;    /* 0: no version check */
        /* then, each terminated by NUL: cwd, argv[0..argc), first_env[0..first_envc), env[0..envc); with
         * first_argc: first_cwd, first_argv[0..first_argc); with check_argc: version,
         * check_argv[0..check_argc) */
};

struct init_exited {
        int32_t wait_status; /* as from wait() */
        uint32_t none_added; /* for INIT_LIST_ADDED: there are no new files */
        uint64_t cpu_us;     /* of the command and its descendants */
        uint64_t rss_peak_bytes;
        uint64_t disk_bytes_free;
        uint64_t disk_inodes_free;
};

/* The smallest free space of the writable file systems; UINT64_MAX: not known. */
struct init_room {
        uint64_t disk_bytes_free;
        uint64_t disk_inodes_free;
};

/* Sends a signal to the task with that tag.  SIGKILL reaches all descendants, even those that hide; other
 * signals go to its process group.  Tag 0: to every process except init. */
struct init_signal {
        int32_t signal;
        uint32_t target; /* a tag */
};

struct init_list {
        uint64_t since_ns;  /* realtime; files with an older timestamp are unchanged */
        uint32_t all_added; /* the workspace was empty before */
        uint32_t reserved;
};

struct init_file {
        uint64_t bytes;
        uint32_t added; /* otherwise modified */
        uint32_t reserved;
};

/* File operations.  Each runs in its own process behind the same isolation as the code, so that neither a
 * path nor a slow disk can affect anything else.  A relative path is below /workspace. */
enum init_operation {
        INIT_READ = 1, /* out: struct init_stat, then length bytes from offset on (or up to the end); regular
                          files only (-EISDIR, -EINVAL); follows links */
        INIT_WRITE,    /* in: the whole content.  Atomic: written to a temporary file in the same directory,
                          which replaces the target when `length` bytes have arrived (~0: until the end).  Mode:
                          that of an existing file (unless INIT_SET_MODE), otherwise `mode`.  INIT_MAKE_PARENTS.
                          More than `offset` bytes (0: no limit): -EFBIG.  Fewer than `length`: -ENODATA.  A link
                          is followed.  If killed before the end, nothing has changed. */
        INIT_STAT,     /* out: struct init_stat, then the target of a link */
        INIT_READ_DIR, /* out: for each entry struct init_stat, then its name (name_len bytes); unsorted; at
                          most `length` entries (0: 100,000), then -EOVERFLOW if there are more */
        INIT_MAKE_DIR, /* INIT_MAKE_PARENTS: creates parents, too, and an existing directory is no error */
        INIT_MOVE,     /* path to path2; replaces a file there, unless INIT_NO_REPLACE */
        INIT_REMOVE,   /* a file or link; a directory only with INIT_RECURSIVE or if empty.  /workspace: only
                          its content */
        INIT_TAR,      /* out: a tar archive (pax) of the directory's content, or of one file; regular files,
                          directories, links.  More than `offset` bytes (0: no limit): -EFBIG.  More than 1,000
                          levels deep: -ELOOP */
        INIT_UNTAR, /* in: a tar archive, unpacked below the directory (created if missing).  Entry with `..`,
                       absolute name or device: -EINVAL; entry below a link: -ENOTDIR; the remaining entries
                       are not unpacked.  Link targets are not restricted.  More than `offset` bytes in total
                       (0: no limit): -EFBIG */
        INIT_WATCH, /* out: for each change in the directory (INIT_RECURSIVE: also in those below it) struct
                       init_event, then a name relative to it; until killed or the reader closes */
};

enum init_operate_flag {
        INIT_MAKE_PARENTS = 1u << 0,
        INIT_RECURSIVE = 1u << 1,
        INIT_NO_REPLACE = 1u << 2,
        INIT_SET_MODE = 1u << 3, /* apply `mode` to an existing file, too */
};

struct init_operate {
        uint32_t operation;
        uint32_t flags;
        uint64_t offset, length;
        uint32_t mode;
        uint32_t reserved;
        /* then path and path2, each terminated by NUL; path2 may be empty */
};

struct init_stat {
        uint64_t bytes;
        uint64_t inode;
        int64_t modified_ns; /* realtime */
        uint32_t mode;       /* type and permissions, as in stat */
        uint32_t name_len;   /* length of the data that follows */
};

enum init_event_kind {
        INIT_CREATED = 1,
        INIT_MODIFIED,
        INIT_REMOVED,
        INIT_MOVED,    /* moved away; the new name gets INIT_CREATED if its directory is watched */
        INIT_LOST,     /* events were lost, or there are more directories than can be watched (4,096) */
        INIT_WATCHING, /* the first event: later changes are reported.  INIT_WATCHING and INIT_LOST have no
                          name */
};

struct init_event {
        uint32_t kind;
        uint32_t directory; /* it is a directory */
        uint32_t name_len;
        uint32_t reserved;
};

_Static_assert(sizeof(struct init_exited) == 8 + 4 * 8 && sizeof(struct init_ready) == 24, "no holes");
_Static_assert(sizeof(struct init_list) == 16 && sizeof(struct init_file) == 16, "no holes");
_Static_assert(sizeof(struct init_room) == 16, "no holes");
_Static_assert(sizeof(struct init_operate) == 32 && sizeof(struct init_stat) == 32, "no holes");
_Static_assert(sizeof(struct init_event) == 16 && sizeof(struct init_spawn) == 28, "no holes");
