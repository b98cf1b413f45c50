/* cella.h -- run untrusted code in a sandbox on this machine.
 *
 * A sandbox is made with cella_sandbox_new(), runs one command at a time with
 * cella_run(), and takes everything in it down with cella_sandbox_free().  See
 * doc/example.c for a whole program.
 *
 * Rules that hold for every call:
 *  - 0 or a positive value is success, a negative value is -errno, and then *err
 *    says what was wrong in words for a person.  Outputs are untouched on failure.
 *  - The library does not print, exit, change signal handlers or keep threads.
 *  - One sandbox is used by one thread at a time; two sandboxes are independent.
 *  - Strings and arrays handed in are only borrowed for the call. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is declared here is what the shared library exports. */
#pragma GCC visibility push(default)

#define CELLA_VERSION "0.1.0"

/* The word an interface shows for an error.  cella_kind_name() spells it. */
enum cella_kind {
        CELLA_OK = 0,
        CELLA_INVALID_REQUEST,
        CELLA_NOT_FOUND,
        CELLA_RUNTIME_NOT_FOUND,
        CELLA_TOO_LARGE,
        CELLA_ENGINE_UNAVAILABLE,
        CELLA_ISOLATION_UNAVAILABLE,
        CELLA_INTERNAL,
        /* Of the daemon only: */
        CELLA_UNAUTHORIZED,
        CELLA_ACCESS_DENIED,
        CELLA_SCAN_REFUSED,
        CELLA_OVER_CAPACITY,
};

/* Owned by the caller, of fixed size, never on the heap: a child that was just
 * cloned can send it down a socket. */
struct cella_err {
        int num;              /* -errno of the cause, or 0 */
        enum cella_kind kind; /* CELLA_OK while nothing went wrong */
        char msg[240];        /* what was wrong and where */
        char hint[200];       /* what to do about it; may be empty */
};

const char *cella_kind_name(enum cella_kind kind);

/* Limits.  cella_limits_default() fills in the defaults; 0 means "no limit" only
 * where a field says so. */
struct cella_limits {
        uint64_t memory_bytes; /* all processes together, swap included */
        uint64_t disk_bytes;   /* everything written to the private file system */
        uint64_t disk_inodes;  /* files and directories on it */
        uint64_t cpu_time_ms;  /* all processes together; 0: none */
        uint64_t timeout_ms;   /* wall time until SIGTERM */
        uint64_t grace_ms;     /* from SIGTERM to SIGKILL; at most timeout_ms is used */
        uint64_t output_bytes; /* kept of stdout and of stderr, each */
        uint32_t cpus_milli;   /* cores, in thousandths */
        uint32_t processes;    /* processes and threads together */
        uint32_t open_files;   /* per process */
};

/* Which limits the caller insists on.  One that this host cannot enforce is an
 * error if its bit is set in cella_options.required, and is listed in
 * cella_isolation.missing if not. */
enum {
        CELLA_LIMIT_MEMORY = 1u << 0,
        CELLA_LIMIT_CPUS = 1u << 1,
        CELLA_LIMIT_CPU_TIME = 1u << 2,
        CELLA_LIMIT_PROCESSES = 1u << 3,
        CELLA_LIMIT_DISK = 1u << 4, /* missing only of a daemon's persistent workspace, without root */
};

void cella_limits_default(struct cella_limits *limits);

/* A host file or directory shown in the sandbox.  Target is absolute. */
struct cella_mount {
        const char *source;
        const char *target;
        bool writable;
};

/* What the code may reach.  Nothing but its own loopback; names that are listed; any public
 * address.  Private, loopback, link-local and metadata addresses are refused in each, unless
 * allowed_private names them. */
enum cella_tier { CELLA_RESTRICTED = 0, CELLA_STANDARD, CELLA_ELEVATED };

/* Lists of patterns, each NULL-terminated or NULL: NAME, *.NAME (what is below it) or an address, with an
 * optional :PORT.  Without a port, allowed is for 80 and 443, and the others for every port. */
struct cella_network {
        enum cella_tier tier;
        const char *const *allowed; /* of CELLA_STANDARD; empty: nothing */
        const char *const *blocked;
        const char *const *allowed_private; /* also networks: 10.0.0.0/8.  Allows nothing by itself */
};

struct cella_options {
        struct cella_limits limits;
        uint32_t required;     /* CELLA_LIMIT_* */
        const char *workspace; /* host directory at /workspace; NULL: a private one */
        bool workspace_writable;
        const struct cella_mount *mounts;
        size_t n_mounts;
        bool user_root; /* uid 0 inside, still nobody outside; default is uid 1000, or the image's user */
        bool terminals; /* a /dev/pts of its own, for commands on a terminal */
        struct cella_network network;
        /* A root file system from the store of images: a name as `cella image ls` shows it, or an id.  NULL
         * or "host": a view of this machine.  The code is the image's user then (root, if it names none), all
         * of it may be changed, and what was changed goes with the sandbox.  The store is below $CELLA_STATE,
         * or where the daemon has it. */
        const char *image;
        /* NULL or "native"; "docker": the sandbox is a container of Docker or Podman, whichever is there, and
         * image is one of theirs. */
        const char *engine;
};

void cella_options_default(struct cella_options *options);

enum cella_status {
        CELLA_EXITED = 0,
        CELLA_SIGNALED,
        CELLA_TIMEOUT,
        CELLA_MEMORY_LIMIT,
        CELLA_DISK_LIMIT,
        CELLA_PROCESS_LIMIT,
        CELLA_CPU_LIMIT,
        CELLA_OUTPUT_LIMIT,
        CELLA_CANCELLED,
        CELLA_INTERRUPTED, /* the daemon died under it */
};

const char *cella_status_name(enum cella_status status);

enum cella_stream { CELLA_STDOUT = 0, CELLA_STDERR = 1 };

/* What to run: either argv, or a runtime ("python3", "sh", "node"...) with code
 * or with the text of a file.  Nothing of them: the image's own command. */
struct cella_command {
        const char *const *argv; /* NULL-terminated; with a runtime: further arguments, may be NULL */
        const char *runtime;     /* NULL: argv is the command */
        const char *program;     /* the runtime's own program; NULL: as its name says, in PATH */
        const char *code;        /* the snippet, when a runtime is given */
        size_t code_len;
        const char *file_name;  /* shown to the code as its file name; NULL: passed like -c */
        const char *const *env; /* NULL-terminated K=V, on top of the clean environment; may be NULL */
        const char *cwd;        /* NULL: /workspace, or the image's own for a command */
        int stdin_fd;           /* copied into a pipe, never handed in itself; -1: empty */
        bool list_files;        /* fill cella_result.files */
        bool kill_on_output_limit;
        bool final; /* the last command in this sandbox: it may begin to end with it */
        /* Where output goes.  By default it is kept in the result.  With on_output it is
         * handed over as it comes, from the calling thread; a negative return cancels the
         * run.  With stream_fds it is written there as it comes; a reader that does not
         * read holds the code up, but not its deadline. */
        int (*on_output)(void *userdata, enum cella_stream stream, const char *data, size_t len);
        void *userdata;
        const int *stream_fds; /* two, for CELLA_STDOUT and CELLA_STDERR; or NULL */
        bool limit_streamed;   /* output_bytes is for stream_fds too, not only for what is kept */
        /* A descriptor that becomes readable when the run must be cancelled; -1: none. */
        int cancel_fd;
};

struct cella_file {
        const char *path;   /* relative to the workspace */
        const char *change; /* "added", "modified" */
        uint64_t bytes;
};

/* Something that was refused, told to the caller. */
struct cella_violation {
        const char *kind, *target, *detail;
};

/* What a run did on the network. */
struct cella_network_usage {
        uint64_t connections, refused; /* refused: connections, lookups and requests */
        uint64_t bytes_sent, bytes_received;
        uint64_t lookups;
};

struct cella_result {
        char id[32];      /* exe_... */
        char sandbox[32]; /* sbx_... */
        enum cella_status status;
        int exit_code; /* the code's own; 128+N after signal N */
        int signal;    /* 0: none */
        /* Output that was kept; not NUL-free, may be any bytes. */
        char *output[2];
        size_t output_len[2];
        uint64_t output_total[2]; /* bytes written, kept or not */
        bool output_truncated[2];
        uint64_t duration_us;            /* from the release of the command to the end of its last process */
        uint64_t cpu_us;                 /* in this time */
        uint64_t memory_peak_bytes;      /* 0: unknown on this host */
        uint32_t processes_peak;         /* 0: unknown on this host */
        bool has_network, network_known; /* the sandbox has one; what it did there is known */
        struct cella_network_usage network;
        struct cella_file *files;
        size_t n_files;
        bool files_truncated; /* there were more than are listed */
        struct cella_violation *violations;
        size_t n_violations;
};

/* What stands between the code and the host; names as in INTERFACE "layers". */
struct cella_isolation {
        const char *engine; /* "native", "docker", "podman" */
        const char *layers[16];
        size_t n_layers;
        const char *missing[16]; /* layers and limits that this host cannot give */
        size_t n_missing;
};

struct cella_sandbox; /* opaque */

/* Makes a sandbox and waits until all its walls stand. */
int cella_sandbox_new(const struct cella_options *options, struct cella_sandbox **ret, struct cella_err *err);

/* Ends everything in it and removes every trace.  NULL is fine.  Returns NULL. */
struct cella_sandbox *cella_sandbox_free(struct cella_sandbox *sandbox);

const char *cella_sandbox_id(const struct cella_sandbox *sandbox);
void cella_sandbox_isolation(const struct cella_sandbox *sandbox, struct cella_isolation *ret);

/* Runs one command to its end; everything the command started ends with it.  A
 * non-zero exit code, a signal, a limit that was hit are results, not errors. */
int cella_run(struct cella_sandbox *sandbox, const struct cella_command *command, struct cella_result *ret,
              struct cella_err *err);

/* Frees what a result points to; the struct itself is the caller's. */
void cella_result_done(struct cella_result *result);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
