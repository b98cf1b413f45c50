/* cli/bench/bench.h -- what the parts of `cella bench` share.
 *
 * bench.c         options, and what follows what
 * bench_client.c  requests that were built before the clock runs
 * bench_daemon.c  daemons of our own
 * bench_cases.c   what is measured for its latency
 * bench_rounds.c  running the cases in turns
 * bench_crowd.c   many connections at once
 * bench_load.c    executions a second; many sandboxes at once
 * bench_memory.c  what a sandbox that waits takes
 * bench_report.c  the table and the JSON */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cella.h"

#define BENCH_POOLS_MAX 100
#define BENCH_CONNECTIONS_MAX 64

/* Set by a signal; everything that takes long looks at it and returns -EINTR. */
extern volatile sig_atomic_t bench_interrupted;

/* ---- the client ---- */

struct bench_answer {
        const char *body; /* in text, NUL after it */
        size_t len;
        char text[65536];
};

/* A connection that is kept; a wait on it ends after 30 s.  -errno. */
int bench_connect(const char *path);
/* The bytes of a request; the caller frees them.  body may be NULL. */
char *bench_request(const char *method, const char *path, const char *body);
/* The HTTP status, or -errno. */
int bench_ask(int fd, const char *request, size_t len, struct bench_answer *answer);
/* An execution that must exit with 0 and print this line. */
int bench_execute(int fd, const char *request, size_t len, const char *line, struct bench_answer *answer);

/* Reads what has come of an answer, of which there are *got bytes.  The HTTP status once it is whole,
 * -EAGAIN before, or -errno. */
int bench_hear(int fd, struct bench_answer *answer, size_t *got);
/* Whether an answer is that of such an execution: 0, or -EBADMSG. */
int bench_judge(int status, const struct bench_answer *answer, const char *line);

/* ---- many at once ---- */

struct bench_crowd {
        const char *socket, *request, *line;
        long long left;        /* executions to do */
        unsigned done, failed; /* of them */
};

/* So many at once, until all is done or the time is over (0: there is none) and what was asked is answered.
 * The seconds that it took. */
double bench_crowd_run(struct bench_crowd *crowd, unsigned connections, int64_t us);

/* ---- a daemon ---- */

struct bench_pool {
        char runtime[32], waits[32], problem[160];
        uint64_t size, available, making, in_use, hits, misses;
        double refill_ms;
};

struct bench_daemon {
        char directory[64], socket[80];
        pid_t pid; /* the keeper's; 0: there is none */
        int fd;    /* a connection that is kept; -1 */
        struct bench_answer *answer;
        struct bench_pool pools[BENCH_POOLS_MAX]; /* as last read */
        size_t n_pools;
};

#define BENCH_DAEMON_NONE                                                                                    \
        {                                                                                                    \
                .fd = -1                                                                                     \
        }

/* In a directory of its own, so that nobody else's work is measured (nor put into anybody's log).  settings:
 * what differs from the defaults, as JSON. */
int bench_daemon_start(struct bench_daemon *d, const char *settings, struct cella_err *err);
/* Ends it with all its sandboxes and removes the directory; one that was not started is fine. */
void bench_daemon_stop(struct bench_daemon *d);
int bench_daemon_change(struct bench_daemon *d, const char *settings, struct cella_err *err);
/* A sandbox that stays; its id. */
int bench_daemon_sandbox(struct bench_daemon *d, char *ret, size_t size, struct cella_err *err);
/* Reads d->pools. */
int bench_daemon_pools(struct bench_daemon *d, struct cella_err *err);
const struct bench_pool *bench_daemon_pool(const struct bench_daemon *d, const char *runtime); /* NULL */
/* Waits until every pool is full and nothing is under way; then d->pools says so. */
int bench_daemon_settle(struct bench_daemon *d, struct cella_err *err);

/* ---- latency ---- */

enum bench_daemons { BENCH_PLAIN, BENCH_SPARE, BENCH_POOLED, BENCH_PANDAS, BENCH_N_DAEMONS };

enum bench_kind {
        BENCH_SPAWN,         /* argv, by posix_spawn() */
        BENCH_LIBRARY_FRESH, /* a sandbox made, the code, the sandbox ended */
        BENCH_LIBRARY_READY, /* the code in a sandbox that is there */
        BENCH_GET,           /* a request that executes nothing */
        BENCH_EXEC,          /* POST /v1/exec */
        BENCH_EXEC_READY,    /* POST /v1/sandboxes/ID/exec */
};

enum bench_expects { BENCH_ANY, BENCH_HIT, BENCH_MISS }; /* of a pool */

struct bench_case {
        const char *group, *way; /* way "bare" is what the group's others are compared with */
        const char *title;
        const char *const *argv;    /* BENCH_SPAWN: NULL-terminated; the program is looked for */
        const char *why_not;        /* what it means when that does not run */
        const char *runtime, *body; /* of a request */
        const char *line;           /* that it prints */
        enum bench_kind kind;
        enum bench_daemons daemon;
        enum bench_expects expects;
};

struct bench_series {
        char skipped[100]; /* why; "": it was not */
        char program[64];
        char *request;
        size_t request_len;
        uint32_t *times; /* microseconds, sorted at the end */
        size_t n;
        uint64_t failures, misses; /* misses: answered, but not in the way that the case is about */
};

extern const struct bench_case bench_cases[];
extern const size_t bench_cases_len;

struct bench_group {
        const char *name, *title;
};
extern const struct bench_group bench_groups[];
extern const size_t bench_groups_len;

/* ---- the rest ---- */

/* How long one of both is kept busy before it is the other's turn: what begins and ends with each turn is no
 * part of being busy. */
#define BENCH_SLICE_S 3u

struct bench_throughput {
        bool done;
        unsigned seconds, connections, processes;
        double bare, warm; /* executions a second */
        uint64_t hits, misses, failures;
};

struct bench_memory {
        bool done;
        char skipped[100];
        uint64_t sandboxes;
        uint64_t pss, daemon_pss; /* bytes for each sandbox: its processes; what the daemon grew by */
        int64_t available;        /* what the machine has less for each */
};

struct bench_live {
        bool done;
        char problem[160]; /* why there are less than asked for */
        uint64_t asked, alive, answered, failures, misses;
        double fill_s, answer_s;
        uint64_t keeper_files, server_files; /* descriptors */
        struct bench_memory memory;
};

struct bench {
        uint64_t rounds, seconds, connections, live_n;
        bool json;
        struct bench_daemon daemons[BENCH_N_DAEMONS];
        struct cella_sandbox *ready;
        struct bench_series *series; /* one for each case */
        struct bench_throughput throughput;
        struct bench_memory memory;
        struct bench_live live;
};

int bench_cases_prepare(struct bench *b, struct cella_err *err);
int bench_rounds(struct bench *b, struct cella_err *err);
/* One turn of a case: 0, or -errno when the answer was none or wrong. */
int bench_run_spawn(const char *program, const char *const *argv, const char *line);

int bench_load(struct bench *b, struct cella_err *err);
int bench_idle(struct bench *b, struct cella_err *err);
int bench_live(struct bench *b, struct cella_err *err);

/* What the machine and the daemon have in use, to compare with later. */
struct bench_usage {
        uint64_t available, daemon_pss, sandboxes_pss, sandboxes;
};
/* -EACCES: one may not look into the sandboxes. */
int bench_usage_read(const struct bench_daemon *d, struct bench_usage *ret);
void bench_usage_compare(const struct bench_usage *before, const struct bench_usage *after,
                         struct bench_memory *ret);
/* Open descriptors of the keeper and of the server. */
void bench_count_files(const struct bench_daemon *d, uint64_t *ret_keeper, uint64_t *ret_server);

/* Prints all; how many answers were wrong. */
uint64_t bench_report(const struct bench *b);
