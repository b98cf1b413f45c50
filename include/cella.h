/* cella.h -- runs untrusted code in a sandbox on this machine.
 *
 * cella_sandbox_new() creates a sandbox, cella_run() runs one command at a time in it, and
 * cella_sandbox_free() ends all its processes and removes it.  doc/example.c is a complete program.
 *
 * Rules for all functions:
 * - They return 0 or a positive value on success and -errno on failure.  On failure, *err contains a
 *   message for the user, and outputs are not modified.
 * - The library does not print, exit, change signal handlers or keep threads.
 * - A sandbox may be used by one thread at a time.  Different sandboxes are independent.
 * - Strings and arrays passed to a function are not used after it returns. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The shared library exports only the declarations below. */
#pragma GCC visibility push(default)

#define CELLA_VERSION "0.1.0"

/* The error kind that interfaces show; cella_kind_name() returns its name. */
enum cella_kind {
        CELLA_OK = 0,
        CELLA_INVALID_REQUEST,
        CELLA_NOT_FOUND,
        CELLA_RUNTIME_NOT_FOUND,
        CELLA_TOO_LARGE,
        CELLA_ENGINE_UNAVAILABLE,
        CELLA_ISOLATION_UNAVAILABLE,
        CELLA_INTERNAL,
        /* Used by the daemon only: */
        CELLA_UNAUTHORIZED,
        CELLA_ACCESS_DENIED,
        CELLA_SCAN_REFUSED,
        CELLA_OVER_CAPACITY,
};

/* Owned by the caller and of fixed size, so that a newly cloned child can send it over a socket without
 * using the heap. */
struct cella_err {
        int num;              /* -errno of the cause, or 0 */
        enum cella_kind kind; /* CELLA_OK if there was no error */
        char msg[240];        /* what went wrong and where */
        char hint[200];       /* what the user can do about it; may be empty */
};

const char *cella_kind_name(enum cella_kind kind);

/* cella_limits_default() sets the defaults.  0 means "no limit" only for the fields that say so. */
struct cella_limits {
        uint64_t memory_bytes; /* all processes together, including swap */
        uint64_t disk_bytes;   /* all data written to the private file system */
        uint64_t disk_inodes;  /* files and directories on it */
        uint64_t cpu_time_ms;  /* all processes together; 0: no limit */
        uint64_t timeout_ms;   /* wall time until SIGTERM */
        uint64_t grace_ms;     /* from SIGTERM to SIGKILL; limited to timeout_ms */
        uint64_t output_bytes; /* kept of stdout and stderr, each */
        uint32_t cpus_milli;   /* CPU cores in thousandths */
        uint32_t processes;    /* processes and threads together */
        uint32_t open_files;   /* per process */
};

/* Limits that the caller requires.  If this host cannot enforce a limit, creating the sandbox fails if its
 * bit is set in cella_options.required; otherwise the limit is listed in cella_isolation.missing. */
enum {
        CELLA_LIMIT_MEMORY = 1u << 0,
        CELLA_LIMIT_CPUS = 1u << 1,
        CELLA_LIMIT_CPU_TIME = 1u << 2,
        CELLA_LIMIT_PROCESSES = 1u << 3,
        CELLA_LIMIT_DISK = 1u << 4, /* only missing for a daemon's persistent workspace without root */
};

void cella_limits_default(struct cella_limits *limits);

/* A host file or directory mounted in the sandbox.  target is absolute. */
struct cella_mount {
        const char *source;
        const char *target;
        bool writable;
};

/* Network access: only the sandbox's own loopback (restricted), listed names (standard), or any public
 * address (elevated).  Private, loopback, link-local and metadata addresses are always refused, unless
 * allowed_private contains them. */
enum cella_tier { CELLA_RESTRICTED = 0, CELLA_STANDARD, CELLA_ELEVATED };

/* Lists of patterns, each NULL-terminated or NULL: NAME, *.NAME (all names below NAME) or an address, with
 * an optional :PORT.  Without a port, a pattern in allowed covers ports 80 and 443, in the other lists all
 * ports. */
struct cella_network {
        enum cella_tier tier;
        const char *const *allowed; /* for CELLA_STANDARD; an empty list allows nothing */
        const char *const *blocked;
        const char *const
                *allowed_private; /* also networks: 10.0.0.0/8.  Does not allow anything by itself */
};

struct cella_options {
        struct cella_limits limits;
        uint32_t required;     /* CELLA_LIMIT_* */
        const char *workspace; /* host directory mounted at /workspace; NULL: a private directory */
        bool workspace_writable;
        const struct cella_mount *mounts;
        size_t n_mounts;
        bool user_root; /* uid 0 inside, an unprivileged uid outside; default: uid 1000, or the image's user
                         */
        struct cella_network network;
        /* A root file system from the image store: a name as shown by `cella image ls`, or an id.  NULL or
         * "host": a view of this machine.  With an image, the code runs as the image's user (root if it
         * names none) and may modify all files; the changes are discarded with the sandbox.  The store is
         * below $CELLA_STATE, or in the daemon's state directory. */
        const char *image;
        /* NULL or "native"; "docker": the sandbox is a container of Docker or Podman (whichever is found),
         * and image is one of its images. */
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
        CELLA_INTERRUPTED, /* the daemon died during the execution */
};

const char *cella_status_name(enum cella_status status);

enum cella_stream { CELLA_STDOUT = 0, CELLA_STDERR = 1 };

/* The command to run: either argv, or a runtime ("python3", "sh", "node"...) with code or with the text of
 * a file.  If all are NULL: the image's default command. */
struct cella_terminal;

struct cella_command {
        const char *const *argv; /* NULL-terminated; with a runtime: further arguments, may be NULL */
        const char *runtime;     /* NULL: argv is the command */
        const char *program;     /* program to use for the runtime; NULL: found by its name in PATH */
        const char *code;        /* source code for the runtime; NULL: it reads commands, from a terminal */
        size_t code_len;
        const char *code_file;  /* instead of code: the absolute path of a file that is in the sandbox */
        const char *file_name;  /* file name that the code sees; NULL: passed like -c */
        const char *const *env; /* NULL-terminated K=V, added to the clean environment; may be NULL */
        const char *cwd;        /* NULL: /workspace, or the image's working directory for a command */
        int stdin_fd;           /* copied into a pipe, not passed to the code; -1: empty */
        bool list_files;        /* fill cella_result.files */
        bool kill_on_output_limit;
        bool final; /* last command in this sandbox, which may start to shut down with it */
        /* Destination of the output.  By default, it is kept in the result.  With on_output, it is passed
         * to the callback in the calling thread as it arrives; a negative return value cancels the run.
         * With stream_fds, it is written to these descriptors as it arrives; a reader that does not read
         * blocks the code, but does not delay its deadline. */
        int (*on_output)(void *userdata, enum cella_stream stream, const char *data, size_t len);
        void *userdata;
        const int *stream_fds; /* two, for CELLA_STDOUT and CELLA_STDERR; or NULL */
        bool limit_streamed;   /* output_bytes also limits stream_fds, not only the output that is kept */
        /* The run is cancelled when this descriptor becomes readable; -1: none. */
        int cancel_fd;
        /* Used by `cella run`: a terminal instead of three pipes.  NULL: none. */
        struct cella_terminal *terminal;
};

struct cella_file {
        const char *path;   /* relative to the workspace */
        const char *change; /* "added", "modified" */
        uint64_t bytes;
};

/* An action that was refused. */
struct cella_violation {
        const char *kind, *target, *detail;
};

/* Network usage of a run. */
struct cella_network_usage {
        uint64_t connections, refused; /* refused connections, lookups and requests */
        uint64_t bytes_sent, bytes_received;
        uint64_t lookups;
};

struct cella_result {
        char id[32];      /* exe_... */
        char sandbox[32]; /* sbx_... */
        enum cella_status status;
        int exit_code; /* exit code of the code; 128+N after signal N */
        int signal;    /* 0: none */
        /* Output that was kept; arbitrary bytes, may contain NUL. */
        char *output[2];
        size_t output_len[2];
        uint64_t output_total[2]; /* bytes written, including those not kept */
        bool output_truncated[2];
        uint64_t duration_us;            /* from the start of the command to the end of its last process */
        uint64_t cpu_us;                 /* CPU time during duration_us */
        uint64_t memory_peak_bytes;      /* 0: unknown on this host */
        uint32_t processes_peak;         /* 0: unknown on this host */
        bool has_network, network_known; /* the sandbox has a network; its usage is known */
        struct cella_network_usage network;
        struct cella_file *files;
        size_t n_files;
        bool files_truncated; /* there were more files than listed */
        struct cella_violation *violations;
        size_t n_violations;
        /* If a limit or a refusal ended the run: which one, and what raises it.  If a module could not be
         * imported and a recipe has it: the recipe.  Else "". */
        char hint[200];
        char missing_module[64]; /* that Python or Node could not import; from its error message.  Else "" */
};

/* The isolation between the code and the host.  `cella doctor` lists the names of the layers. */
struct cella_isolation {
        const char *engine; /* "native", "docker", "podman" */
        const char *layers[16];
        size_t n_layers;
        const char *missing[16]; /* layers and limits that this host does not provide */
        size_t n_missing;
        unsigned users; /* uids inside: 1, or 65536 for an image that runs as root, see doc/images.md */
};

struct cella_sandbox; /* opaque */

/* Creates a sandbox and waits until its isolation is complete.  The caller frees *ret with
 * cella_sandbox_free(). */
int cella_sandbox_new(const struct cella_options *options, struct cella_sandbox **ret, struct cella_err *err);

/* Ends all processes of the sandbox and removes it.  sandbox may be NULL.  Returns NULL. */
struct cella_sandbox *cella_sandbox_free(struct cella_sandbox *sandbox);

/* Closes the network of the sandbox for good, and all its connections. */
void cella_sandbox_close_network(struct cella_sandbox *sandbox);

const char *cella_sandbox_id(const struct cella_sandbox *sandbox);
void cella_sandbox_isolation(const struct cella_sandbox *sandbox, struct cella_isolation *ret);

/* Runs one command and all processes that it starts to the end.  A non-zero exit code, a signal or an
 * exceeded limit is a result, not an error.  The caller frees the contents of *ret with
 * cella_result_done(). */
int cella_run(struct cella_sandbox *sandbox, const struct cella_command *command, struct cella_result *ret,
              struct cella_err *err);

/* After a run with list_files in which the sandbox did not end: the type and permissions of a file of the
 * workspace, as in stat (a link is not followed); and its content, if it is a regular file.  The path and the
 * content come from the sandbox.  A negative value of on_data ends the reading and is returned; then *err is
 * not modified. */
int cella_file_mode(struct cella_sandbox *sandbox, const char *path, unsigned *ret, struct cella_err *err);
int cella_file_read(struct cella_sandbox *sandbox, const char *path,
                    int (*on_data)(void *userdata, const char *data, size_t len), void *userdata,
                    struct cella_err *err);

/* Frees everything that the result points to, but not the struct itself. */
void cella_result_done(struct cella_result *result);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
