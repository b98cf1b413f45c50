/* cli/bench/bench.h -- shared by the files of `cella bench`.
 *
 * bench.c         options, order of the parts
 * bench_client.c  requests, built before the clock starts
 * bench_daemon.c  daemons of the benchmark
 * bench_cases.c   the cases of the latency measurement
 * bench_rounds.c  runs the cases in turns
 * bench_crowd.c   many connections at once
 * bench_load.c    executions per second; many sandboxes at once
 * bench_memory.c  memory of a waiting sandbox
 * bench_report.c  the table and the JSON
 * bench_corpus.c  programs of a directory; bench_corpus_run.c runs one, bench_corpus_report.c prints */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cella.h"

#define BENCH_POOLS_MAX 100
#define BENCH_CONNECTIONS_MAX 64
#define BENCH_ANSWER_MAX 4194304 /* of an execution with much output */

/* Set by a signal; long operations check it and return -EINTR. */
extern volatile sig_atomic_t bench_interrupted;

/* ---- the client ---- */

struct bench_answer {
        const char *body; /* in text, followed by a NUL */
        size_t len;
        char text[BENCH_ANSWER_MAX];
};

/* Opens a persistent connection, on which reads time out after 30 s.  Returns it or -errno. */
int bench_connect(const char *path);
/* Returns the bytes of a request; the caller frees them.  body may be NULL. */
char *bench_request(const char *method, const char *path, const char *body);
/* Sends a request and reads the answer.  Returns the HTTP status or -errno. */
int bench_ask(int fd, const char *request, size_t len, struct bench_answer *answer);
/* Sends an execution, which must exit with 0 and print this line. */
int bench_execute(int fd, const char *request, size_t len, const char *line, struct bench_answer *answer);

/* Reads more bytes of an answer, of which *got were read.  Returns the HTTP status when it is complete,
 * -EAGAIN before that, or -errno. */
int bench_receive(int fd, struct bench_answer *answer, size_t *got);
/* Checks that the answer is that of such an execution.  Returns 0 or -EBADMSG. */
int bench_judge(int status, const struct bench_answer *answer, const char *line);

/* ---- many at once ---- */

struct bench_crowd {
        const char *socket, *request, *line;
        long long left;        /* remaining executions */
        unsigned done, failed; /* executions */
};

/* Runs executions on this number of connections until all are done or the time is over (0: no limit) and all
 * requests are answered.  Returns the seconds that it took. */
double bench_crowd_run(struct bench_crowd *crowd, unsigned connections, int64_t us);

/* ---- a daemon ---- */

struct bench_pool {
        char runtime[32], waits[32], problem[160];
        uint64_t size, available, making, in_use, hits, misses;
        double refill_ms;
};

struct bench_daemon {
        char directory[100], socket[107];
        pid_t pid; /* of the keeper; 0: not running */
        int fd;    /* a persistent connection; -1: none */
        struct bench_answer *answer;
        struct bench_pool pools[BENCH_POOLS_MAX]; /* as last read */
        size_t n_pools;
};

#define BENCH_DAEMON_NONE                                                                                    \
        {                                                                                                    \
                .fd = -1                                                                                     \
        }

/* Starts a daemon with its own directory, so that other work is not measured and no other log is written to.
 * settings: differences from the defaults, as JSON. */
int bench_daemon_start(struct bench_daemon *d, const char *settings, struct cella_err *err);
/* Stops it with all its sandboxes and removes the directory; it need not have been started. */
void bench_daemon_stop(struct bench_daemon *d);
void bench_remove_tree(const char *path);
int bench_daemon_change(struct bench_daemon *d, const char *settings, struct cella_err *err);
/* Creates a persistent sandbox; *ret is its id. */
int bench_daemon_sandbox(struct bench_daemon *d, char *ret, size_t size, struct cella_err *err);
/* Reads d->pools. */
int bench_daemon_pools(struct bench_daemon *d, struct cella_err *err);
/* NULL: none */
const struct bench_pool *bench_daemon_pool(const struct bench_daemon *d, const char *runtime);
/* Waits until every pool is full and no work is in progress, and reads d->pools. */
int bench_daemon_settle(struct bench_daemon *d, struct cella_err *err);

/* ---- latency ---- */

enum bench_daemons { BENCH_PLAIN, BENCH_SPARE, BENCH_POOLED, BENCH_PANDAS, BENCH_N_DAEMONS };

enum bench_kind {
        BENCH_SPAWN,         /* argv, with posix_spawn() */
        BENCH_LIBRARY_FRESH, /* create a sandbox, run the code, delete the sandbox */
        BENCH_LIBRARY_READY, /* run the code in an existing sandbox */
        BENCH_GET,           /* a request that executes nothing */
        BENCH_EXEC,          /* POST /v1/exec */
        BENCH_EXEC_READY,    /* POST /v1/sandboxes/ID/exec */
};

enum bench_expects { BENCH_ANY, BENCH_HIT, BENCH_MISS }; /* result of the pool */

struct bench_case {
        const char *group, *way; /* the others of the group are compared with the way "bare" */
        const char *title;
        const char *const *argv;    /* BENCH_SPAWN: NULL-terminated; the program is searched in PATH */
        const char *why_not;        /* message if it does not run */
        const char *runtime, *body; /* of a request */
        const char *line;           /* expected output */
        enum bench_kind kind;
        enum bench_daemons daemon;
        enum bench_expects expects;
};

struct bench_series {
        char skipped[100]; /* the reason; "": not skipped */
        char program[64];
        char *request;
        size_t request_len;
        uint32_t *times; /* microseconds, sorted at the end */
        size_t n;
        uint64_t failures, misses; /* misses: correct answers, but not by the way that the case measures */
};

extern const struct bench_case bench_cases[];
extern const size_t bench_cases_len;

struct bench_group {
        const char *name, *title;
};
extern const struct bench_group bench_groups[];
extern const size_t bench_groups_len;

/* ---- programs of a directory ---- */

struct bench_language {
        const char *extension; /* of the file */
        const char *name;
        const char *runtime;
        const char *eval;     /* option for code in an argument */
        const char *file;     /* name of the code in the working directory; NULL: the code is an argument */
        const char *probe[2]; /* code that succeeds if a package is installed: before and after its name */
};

struct bench_program {
        const struct bench_language *language;
        char name[256]; /* of the file */
        char *code;
        struct bench_series bare,
                cella;     /* bare.skipped, bare.program, cella.request, cella.failures are used */
        char differs[320]; /* the first difference; "": none */
};

#define BENCH_PROGRAMS_MAX 2000
#define BENCH_OUTPUT_MAX 1048576 /* of stdout and of stderr; Cella keeps as much by default */

struct bench_corpus {
        char directory[512];
        uint64_t rounds;
        bool json;
        struct bench_program *programs;
        size_t n;
        struct bench_daemon daemon;
        char *output[2]; /* of the last bare run: stdout, stderr */
        uint64_t runs;   /* of each program, with those that do not count */
};

/* Measures the programs of a directory (NULL: those of Cella) and prints the report.  Returns the number of
 * programs with different results, or -errno. */
int bench_corpus(const char *directory, uint64_t rounds, bool json, struct cella_err *err);
/* Runs a program once in each way and compares.  counts: the times are kept. */
int bench_corpus_turn(struct bench_corpus *c, struct bench_program *p, bool bare_first, bool counts,
                      struct cella_err *err);
/* Returns the number of programs with different results. */
uint64_t bench_corpus_report(const struct bench_corpus *c);

/* ---- the rest ---- */

/* Duration of a turn of bare or pooled executions before the other's turn.  Work at the start and the end of
 * a turn is not counted. */
#define BENCH_SLICE_S 3u

struct bench_throughput {
        bool done;
        unsigned seconds, connections, processes;
        double bare, warm; /* executions per second */
        uint64_t hits, misses, failures;
};

struct bench_memory {
        bool done;
        char skipped[100];
        uint64_t sandboxes;
        uint64_t pss, daemon_pss; /* bytes per sandbox: of its processes; growth of the daemon */
        int64_t available;        /* decrease of the machine's available memory per sandbox */
};

struct bench_live {
        bool done;
        char problem[160]; /* why there are fewer than requested */
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
/* Runs a case once.  Returns 0, or -errno if the answer is missing or wrong. */
int bench_run_spawn(const char *program, const char *const *argv, const char *line);
struct bench_process {
        const char *program;
        const char *const *argv;
        const char *directory; /* to run in, as a process group; NULL: in that of the caller */
        const char *home;      /* NULL: none */
        int out, err;          /* descriptors for its output; err -1: /dev/null */
};
/* Starts a bare program.  Returns 0 or -errno. */
int bench_spawn(const struct bench_process *p, pid_t *ret);
/* Finds a program in a directory that sandboxes also see. */
bool bench_find_program(const char *name, char *ret, size_t size);
/* Shuffles the order of n turns; state: of the random numbers. */
void bench_shuffle(size_t *order, size_t n, uint32_t *state);
/* Shows the progress on a terminal; round == rounds: the end. */
void bench_progress(uint64_t round, uint64_t rounds);
void bench_sort(struct bench_series *s);

int bench_load(struct bench *b, struct cella_err *err);
int bench_idle(struct bench *b, struct cella_err *err);
int bench_live(struct bench *b, struct cella_err *err);

/* Memory usage of the machine and the daemon, for comparison. */
struct bench_usage {
        uint64_t available, daemon_pss, sandboxes_pss, sandboxes;
};
/* Returns -EACCES if the memory of sandboxes may not be read. */
int bench_usage_read(const struct bench_daemon *d, struct bench_usage *ret);
void bench_usage_compare(const struct bench_usage *before, const struct bench_usage *after,
                         struct bench_memory *ret);
/* Counts the open descriptors of the keeper and of the server. */
void bench_count_files(const struct bench_daemon *d, uint64_t *ret_keeper, uint64_t *ret_server);

/* Returns the quantile in milliseconds, in thousandths: 500 is the median. */
double bench_quantile(const struct bench_series *s, size_t thousandths);
/* Returns the ratio as text; small ratios are fractions: 1/15. */
const char *bench_show_ratio(double x, char *out, size_t size);
struct json;
/* Opens the object of the report and puts version, kernel, cores and rounds. */
void bench_put_head(struct json *j, uint64_t rounds);
void bench_put_ratio(struct json *j, const char *key, double x);        /* 0: null */
void bench_put_text(struct json *j, const char *key, const char *text); /* "": null */
void bench_put_time(struct json *j, const char *key, const struct bench_series *s, size_t thousandths);

/* Prints everything.  Returns the number of wrong answers. */
uint64_t bench_report(const struct bench *b);
