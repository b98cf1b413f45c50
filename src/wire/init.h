/* wire/init.h -- what a sandbox's owner says to its init, and init's answers.
 *
 * First init raises the walls around itself: INIT_BUILD, INIT_GROUPS, INIT_GO, in this
 * order, or all in one (`together`), and INIT_READY when it is done.  Then it serves.  Each request has a tag
 * of the owner's choice (not 0), its answers carry the same; several commands and file operations go on at
 * once.  INIT_SIGNAL has no answer.  All of it is for processes of one machine and one build: native byte
 * order.  No struct has holes: what was on the sender's stack is nobody's business on the other side. */
#pragma once
#include <stdint.h>

#include "cella.h"

#define INIT_CONTROL_FD 3 /* where init finds the socket */
#define INIT_FREE_FD 16   /* descriptors handed down across the exec are not below this */
#define INIT_MOUNTS_MAX 66
#define INIT_REQUEST_MAX (4u * 1024 * 1024) /* arguments, environment, a file */
#define INIT_STRINGS_MAX 4096u              /* arguments and variables */
#define INIT_REPLY_MAX 8192u
#define INIT_FILES_MAX 1000u /* changed files told of */
#define INIT_TASKS_MAX 256u  /* commands and file operations at once; more: -EAGAIN */
#define INIT_PATH_MAX 4096u

enum init_request {
        INIT_BUILD = 1, /* struct init_build, struct init_mount for each, their strings; descriptors: see
                         * view; if `together`, then those of INIT_GROUPS and INIT_GO, which do not come */
        /* What the owner makes while the view is being built, unless it has it ready: */
        INIT_GROUPS, /* struct init_groups; descriptors: cgroup files to write 0 to, then the user namespace,
                      * if there is one */
        INIT_GO,     /* descriptors: the network namespace, if the owner could make one */
        INIT_PUT_FILE, /* struct init_put_file, name, content; INIT_DONE or INIT_FAILED */
        /* struct init_spawn, strings; descriptors: stdin, stdout, stderr, then those it finds from 3 on;
         * or none with INIT_TERMINAL.  INIT_STARTED (if asked for), then INIT_EXITED; or INIT_FAILED. */
        INIT_SPAWN,
        INIT_SIGNAL, /* struct init_signal */
        INIT_LIST,   /* struct init_list: INIT_FILE for each file that changed, then INIT_DONE */
        /* struct init_operate, strings; descriptors: one, the operation's data.  INIT_EXITED, whose exit
         * code is the errno of what went wrong, or 0; INIT_FAILED if it could not begin. */
        INIT_OPERATE,
        INIT_FORGET, /* refused calls that were told of are told of again, as after INIT_SPAWN: for who runs
                      * something new in a process that is there already.  No answer */
        INIT_JOIN,   /* struct init_join: instead of all up to INIT_GO, for an init that found itself in a
                      * container of somebody else's making.  Descriptors: none, or those of INIT_NETWORK,
                      * which it passes on.  INIT_READY or INIT_FAILED */
        INIT_PLACE,  /* before INIT_JOIN: INIT_DONE; descriptor: the network namespace that it is in */
};

enum init_reply {
        INIT_READY = 100, /* struct init_ready; init waits */
        INIT_FAILED,      /* struct cella_err: the request was not carried out */
        INIT_DONE,
        INIT_EXITED,  /* struct init_exited; every process of the command is gone */
        INIT_FILE,    /* struct init_file, path */
        INIT_STARTED, /* int32_t: the command's pid inside; descriptors: the terminal's master, if any */
        /* Not asked for; tag 0: */
        INIT_NETWORK, /* descriptors: the TCP listener that every connection ends at, and the UDP socket that
                       * every DNS question ends at; see wire/egress.h */
        INIT_VIEW,    /* on the socket that came with INIT_BUILD, with its tag; descriptor: a mount namespace
                       * that nothing is changed in any more */
        INIT_REFUSED, /* struct init_refused: a system call that the filter refused and that matters.  At most
                       * INIT_REFUSED_MAX different ones after each INIT_SPAWN, each once, before its
                       * INIT_EXITED. Whose it was nobody knows, with several commands at once */
};

#define INIT_REFUSED_MAX 32u

struct init_ready {
        uint32_t walls; /* those that stand */
        uint32_t reserved;
        int64_t at_us; /* CLOCK_MONOTONIC.  No command is started before this time */
        uint64_t
                cpu_us; /* CPU time that init has used inside the sandbox's control groups: not a command's */
};

struct init_refused {
        char target[48]; /* "mount" */
        char detail[80]; /* "system call refused" */
};

struct init_groups {
        uint32_t walls;
        uint32_t host_uid, host_gid;
        uint32_t limit_processes_by_rlimit;
        uint32_t has_user; /* the last descriptor is a user namespace in which host_uid is inner_uid */
};

struct init_build {
        uint32_t walls;
        uint32_t privileged;
        uint32_t inner_uid, inner_gid;
        uint32_t host_uid, host_gid; /* without privilege; else see init_groups */
        uint32_t n_mounts;
        uint32_t terminals; /* it gets a /dev/pts of its own */
        uint32_t several;   /* commands at once are to be expected: init sees every process, also those that
                             * hide from others, so that none outruns it.  20 us more to make */
        uint32_t network;   /* there will be a way out: INIT_NETWORK comes before INIT_READY */
        uint32_t direct;    /* the code is run on the host, see jail/spec.h */
        uint32_t view; /* enum jail_view; unless it is the sandbox's own, the descriptor is its view_fd.  One
                        * that is left comes there as INIT_VIEW */
        uint32_t together;  /* all of what follows is here, and so are its descriptors: */
        uint32_t has_netns; /* the last of all is the network namespace */
        uint32_t reserved;
        struct init_groups groups; /* zero unless together */
        uint64_t ignored; /* signals that the owner ignores, and the code is not to: bit 0 is signal 1 */
        struct cella_limits limits; /* has a hole at its end: filled in from zeroed memory */
};

struct init_mount {
        uint32_t writable;
        int32_t idmap_fd; /* handed down across the exec; -1: none */
        int32_t tree_fd;  /* the same: the source itself, as a detached mount; -1: by its name */
        uint32_t reserved;
        /* its strings: source, target, each ending in NUL.  Target "/": an image's root */
};

/* Namespaces, in the order of init_join.outside. */
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

#define INIT_NO_SOCKET 111 /* init's exit code when it finds no owner: nothing passes between it and us */

struct init_join {
        uint32_t walls;                  /* to find standing, or to raise */
        uint32_t terminals;              /* commands on a terminal will be asked for */
        uint64_t outside[INIT_NS_COUNT]; /* the owner's namespaces, by inode: those that must not be ours */
        char kernel[72];                 /* the owner's, as uname() calls its version */
        struct cella_limits limits;      /* filled in from zeroed memory */
};

_Static_assert(sizeof(struct init_join) == 80 + 8 * INIT_NS_COUNT + sizeof(struct cella_limits), "no holes");

_Static_assert(sizeof(struct init_build) == 20 * 4 + 8 + sizeof(struct cella_limits), "no holes");

struct init_put_file {
        uint32_t mode;     /* with INIT_IN_WORKSPACE: there, else in /run */
        uint32_t name_len; /* a single component */
};

#define INIT_IN_WORKSPACE (1u << 16)

enum init_spawn_flag {
        INIT_FINAL = 1u << 0, /* exit when it has ended: nothing more is going to be asked.  It is the only
                               * command then, and its end is that of every process. */
        INIT_TELL_STARTED = 1u << 1,
        INIT_TERMINAL = 1u << 2, /* on a new terminal, whose master comes with INIT_STARTED, asked for or not;
                                  * -ENODEV: not in this sandbox */
        INIT_ALONE = 1u << 3, /* as INIT_FINAL, but init stays: no supervisor beside it, which is faster, and
                               * no other command (-EBUSY) */
        INIT_PROGRAM = 1u << 4,    /* the last descriptor is the program; argv[0] is only its name */
        INIT_LIST_ADDED = 1u << 5, /* with INIT_ALONE: when it has ended, INIT_FILE for each file in the
                                    * workspace and INIT_DONE come before INIT_EXITED, unasked; or that says
                                    * that there is none */
        INIT_ANNOUNCES = 1u << 6, /* with INIT_ALONE: it may say that it is about to end (sys/ending.h).  Then
                                   * INIT_EXITED comes at once, without rss_peak_bytes, and its death
                                   * follows */
        INIT_MADE = 1u << 7, /* argv[0] is a file that the first command makes; gone when the command is */
};

/* With first_argc a command may have another that runs first, in the same process group, with an empty
 * standard input and with standard error for both outputs: what compiles it.  If that fails, its end is the
 * command's.
 * With check_argc it may be a certain version of a program: where there is none of its name in PATH (argv[0];
 * first_argv[0], if something runs first), check_argv[0] is taken if, run with check_argv, it says that
 * version.  Else it is not found. */
struct init_spawn {
        uint32_t argc;
        uint32_t envc;
        uint32_t flags;
        uint16_t columns, rows; /* of the terminal */
        uint32_t first_argc;    /* 0: nothing runs first */
        uint32_t first_envc;    /* what it has in its environment before env */
        uint32_t check_argc;    /* 0: the program is what its name says */
        /* then, each ending in NUL: cwd, argv[0..argc), first_env[0..first_envc), env[0..envc); with
         * first_argc: first_cwd, first_argv[0..first_argc); with check_argc: version,
         * check_argv[0..check_argc) */
};

struct init_exited {
        int32_t wait_status; /* as from wait() */
        uint32_t none_added; /* of INIT_LIST_ADDED */
        uint64_t cpu_us;     /* of the command and what it started */
        uint64_t rss_peak_bytes;
        uint64_t disk_bytes_free;
        uint64_t disk_inodes_free;
};

/* To what was started under a tag; SIGKILL reaches everything it started, however it hid,
 * another signal its process group.  Tag 0: to every process but init. */
struct init_signal {
        int32_t signal;
        uint32_t target; /* a tag */
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

/* Operations on files, each done by a process of its own behind the same walls as the code, so
 * that neither a path nor a slow disk is anybody else's trouble.  A path that is not absolute is
 * below /workspace. */
enum init_operation {
        INIT_READ = 1, /* out: struct init_stat, then length bytes from offset on (as far as there are);
                        * regular files only (-EISDIR, -EINVAL), links are followed */
        INIT_WRITE,    /* in: the whole content.  Atomic: a temporary file beside it that replaces it
                        * when all of `length` has come (~0: until the end), with its mode kept (unless
                        * INIT_SET_MODE) if it existed, else `mode`.  INIT_MAKE_PARENTS.  More than `offset`
                        * bytes (0: no such limit): -EFBIG.  Fewer than `length`: -ENODATA.  A link is followed
                        * to what it names.  Killed before: nothing happened. */
        INIT_STAT,     /* out: struct init_stat, then the target of a link */
        INIT_READ_DIR, /* out: for each entry struct init_stat, then its name (name_len bytes); unsorted;
                        * at most `length` (0: 100,000); more is -EOVERFLOW, after those */
        INIT_MAKE_DIR, /* INIT_MAKE_PARENTS: with parents, and it may be there already */
        INIT_MOVE,     /* path to path2; replaces a file there, unless INIT_NO_REPLACE */
        INIT_REMOVE,   /* a file or link; a directory only if INIT_RECURSIVE or empty.  /workspace itself: its
                        * content only */
        INIT_TAR,      /* out: a tar (pax) of the directory's content, or of one file; regular files,
                        * directories, links.  More than `offset` bytes (0: no such limit): -EFBIG.  Over
                        * 1,000 levels deep: -ELOOP */
        INIT_UNTAR,    /* in: a tar, unpacked below the directory (made if missing); an entry with `..` or an
                        * absolute name, a device: -EINVAL; one behind a link: -ENOTDIR; what is not
                        * unpacked yet then stays so.  Links lead where they like.  More than `offset` bytes in
                        * all (0: none): -EFBIG */
        INIT_WATCH,    /* out: struct init_event, then a name relative to the directory, for each change below
                        * it (INIT_RECURSIVE: below its directories too); until killed or nobody reads */
};

enum init_operate_flag {
        INIT_MAKE_PARENTS = 1u << 0,
        INIT_RECURSIVE = 1u << 1,
        INIT_NO_REPLACE = 1u << 2,
        INIT_SET_MODE = 1u << 3, /* `mode` is for a file that is there already, too */
};

struct init_operate {
        uint32_t operation;
        uint32_t flags;
        uint64_t offset, length;
        uint32_t mode;
        uint32_t reserved;
        /* then path and path2, each ending in NUL; path2 may be empty */
};

struct init_stat {
        uint64_t bytes;
        uint64_t inode;
        int64_t modified_ns; /* realtime */
        uint32_t mode;       /* type and permissions, as in stat */
        uint32_t name_len;   /* of what follows */
};

enum init_event_kind {
        INIT_CREATED = 1,
        INIT_MODIFIED,
        INIT_REMOVED,
        INIT_MOVED,    /* away; what came by that has its own INIT_CREATED, where the new place is watched */
        INIT_LOST,     /* some were missed, or there are more directories than can be watched (4,096) */
        INIT_WATCHING, /* the first: what changes from now on is told of.  Has no name, as INIT_LOST */
};

struct init_event {
        uint32_t kind;
        uint32_t directory; /* it is one */
        uint32_t name_len;
        uint32_t reserved;
};

_Static_assert(sizeof(struct init_exited) == 8 + 4 * 8 && sizeof(struct init_ready) == 24, "no holes");
_Static_assert(sizeof(struct init_list) == 16 && sizeof(struct init_file) == 16, "no holes");
_Static_assert(sizeof(struct init_operate) == 32 && sizeof(struct init_stat) == 32, "no holes");
_Static_assert(sizeof(struct init_event) == 16 && sizeof(struct init_spawn) == 28, "no holes");
