/* bench/steps.c -- what each wall costs: sandboxes with one wall left out, interleaved.
 *
 * Prints the median time from cella_sandbox_new() to cella_sandbox_free() around `true`
 * with all walls, and how much less it is without each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/testing.h"

#define ROUNDS_MAX 2000

static const struct {
        const char *name;
        uint32_t down;
} variants[] = {
        {"all walls", 0},
        {"without net", WALL_NET},
        {"without cgroup", WALL_CGROUP},
        {"without proc masks", WALL_PROC},
        {"without seccomp", WALL_SECCOMP},
        {"without landlock", WALL_LANDLOCK},
        {"without user", WALL_USER},
        {"without ipc", WALL_IPC},
        {"without mount view", WALL_MOUNT},
};
#define N (sizeof variants / sizeof *variants)

static int compare(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

static double once(uint32_t down)
{
        const char *const argv[] = {"/usr/bin/true", NULL};
        const struct cella_command command = {.argv = argv, .cwd = "/", .stdin_fd = -1, .cancel_fd = -1};
        struct cella_options options;
        struct cella_sandbox *sandbox = NULL;
        struct cella_result result;
        struct cella_err err;
        cella_options_default(&options);
        int64_t start = clock_us();
        if (testing_sandbox_new(&options, down, &sandbox, &err) < 0 ||
            cella_run(sandbox, &command, &result, &err) < 0) {
                fprintf(stderr, "steps: %s\n", err.msg);
                exit(1);
        }
        cella_result_done(&result);
        cella_sandbox_free(sandbox);
        return (double)(clock_us() - start);
}

int main(int argc, char **argv)
{
        static double times[N][ROUNDS_MAX];
        int rounds = argc > 1 ? atoi(argv[1]) : 300;
        if (rounds < 1 || rounds > ROUNDS_MAX)
                return 2;
        for (int r = -3; r < rounds; r++)
                for (size_t v = 0; v < N; v++) {
                        double t = once(variants[v].down);
                        if (r >= 0)
                                times[v][r] = t;
                }
        for (size_t v = 0; v < N; v++)
                qsort(times[v], (size_t)rounds, sizeof times[v][0], compare);
        for (size_t v = 0; v < N; v++)
                printf("%-20s %7.0f us  %+7.0f\n", variants[v].name, times[v][rounds / 2],
                       times[v][rounds / 2] - times[0][rounds / 2]);
        return 0;
}
