/* test/kernel/soak.c -- many runs in a row leave nothing behind: no process, cgroup,
 * mount, temporary file or descriptor, and no memory.
 *
 * Other processes may run sandboxes on the same machine, so only what this process made is counted.  Cgroups
 * and uids of its sandboxes have numbers that are computed from its process id (see jail/cgroup.c).  Another
 * process can come to the same numbers; it locks its cgroups as long as it uses them, and this process has
 * released its locks when it counts. */
#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cella.h"

static int failures;

static void check(const char *what, long before, long after, long slack)
{
        if (after > before + slack) {
                printf("FAIL %s: %ld before, %ld after\n", what, before, after);
                failures++;
        } else {
                printf("ok %s: %ld before, %ld after\n", what, before, after);
        }
}

static long count_entries(const char *path)
{
        long n = 0;
        DIR *dir = opendir(path);
        for (struct dirent *e; dir && (e = readdir(dir));)
                n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
        if (dir)
                closedir(dir);
        return n;
}

#define FIRST_UID 1879048192UL /* of sandboxes that root makes: this and the number */

static int rounds;

/* Whether a sandbox of this process can have this number: its first one has the process id, the next ones are
 * STEP apart.  A number that is taken is left out, so that there are more steps than sandboxes. */
static bool ours(unsigned long number)
{
        enum { NUMBERS = 1 << 22, STEP = 7919, ROOM = 10000 };
        unsigned long candidate = (unsigned long)getpid() % NUMBERS;
        for (int i = 0; i < rounds + ROOM; i++, candidate = (candidate + STEP) % NUMBERS)
                if (candidate == number)
                        return true;
        return false;
}

/* Calls use() with each line that a command prints. */
static void for_each_line(const char *command, void (*use)(char *line, void *data), void *data)
{
        char line[4096];
        FILE *f = popen(command, "r");
        while (f && fgets(line, sizeof line, f)) {
                line[strcspn(line, "\n")] = '\0';
                use(line, data);
        }
        if (f)
                pclose(f);
}

static void count_line(char *line, void *count)
{
        (void)line;
        ++*(long *)count;
}

static long count_mounts(void)
{
        long n = 0;
        for_each_line("cat /proc/self/mountinfo", count_line, &n);
        return n;
}

/* Whether a process holds a lock on this directory. */
static bool is_locked(const char *path)
{
        char place[64], lock[512];
        struct stat st;
        bool found = false;
        if (stat(path, &st) < 0)
                return false;
        snprintf(place, sizeof place, " %02x:%02x:%lu ", major(st.st_dev), minor(st.st_dev),
                 (unsigned long)st.st_ino);
        FILE *f = fopen("/proc/locks", "r");
        while (f && !found && fgets(lock, sizeof lock, f))
                found = strstr(lock, " FLOCK ") && strstr(lock, place);
        if (f)
                fclose(f);
        return found;
}

/* The numbers of groups and processes that could belong to this process. */
struct numbers {
        long left;                  /* groups without an owner */
        unsigned long others[4096]; /* used by other processes */
        unsigned n_others;
        long processes;
};

static void count_group(char *path, void *data)
{
        struct numbers *n = data;
        const unsigned long number = strtoul(strrchr(path, '-') + 1, NULL, 10);
        if (!ours(number))
                return;
        if (!is_locked(path))
                n->left++;
        else if (n->n_others < sizeof n->others / sizeof *n->others)
                n->others[n->n_others++] = number;
}

static void count_process(char *uid, void *data)
{
        struct numbers *n = data;
        const unsigned long number = strtoul(uid, NULL, 10) - FIRST_UID;
        for (unsigned i = 0; i < n->n_others; i++)
                if (n->others[i] == number)
                        return;
        n->processes += ours(number);
}

/* Counts the groups, and the processes with uids of groups, that this process has left.  What another process
 * makes or removes while this counts is not there at a later try. */
static void count_left(long *ret_groups, long *ret_processes)
{
        static struct numbers n;
        for (int tries = 0; tries < 10; tries++) {
                n = (struct numbers){0};
                for_each_line("find /sys/fs/cgroup -name 'cella-[0-9]*' 2>/dev/null", count_group, &n);
                for_each_line("ps -eo uid= | awk '$1 >= 1879048192'", count_process, &n);
                if (n.left == 0 && n.processes == 0)
                        break;
                sleep(1);
        }
        *ret_groups = n.left;
        *ret_processes = n.processes;
}

static long rss_pages(void)
{
        long size = 0, rss = 0;
        FILE *f = fopen("/proc/self/statm", "r");
        if (f) {
                if (fscanf(f, "%ld %ld", &size, &rss) != 2)
                        rss = 0;
                fclose(f);
        }
        return rss;
}

static int run_once(int i)
{
        const char *const say[] = {"echo", "hello", NULL};
        const char *const leave[] = {"sh", "-c", "sleep 100 & echo x > /tmp/f", NULL};
        const struct cella_command command = {
                .argv = i % 16 ? say : leave, .stdin_fd = -1, .cancel_fd = -1, .final = i % 2};
        struct cella_options options;
        struct cella_sandbox *sandbox = NULL;
        struct cella_result result;
        struct cella_err err;
        cella_options_default(&options);
        int r = cella_sandbox_new(&options, &sandbox, &err);
        if (r == 0)
                r = cella_run(sandbox, &command, &result, &err);
        if (r == 0) {
                if (result.exit_code != 0 || (i % 16 && result.output_len[0] != 6)) {
                        printf("FAIL run %d: exit code %d, %zu bytes\n", i, result.exit_code,
                               result.output_len[0]);
                        r = -1;
                }
                cella_result_done(&result);
        } else {
                printf("FAIL run %d: %s\n", i, err.msg);
        }
        cella_sandbox_free(sandbox);
        return r;
}

int main(int argc, char **argv)
{
        char temporary[] = "/tmp/cella-soak-XXXXXX";
        rounds = argc > 1 ? atoi(argv[1]) : 1000;
        if (!mkdtemp(temporary) || setenv("TMPDIR", temporary, 1) < 0)
                return 1;
        /* No other process mounts anything in a namespace of our own. */
        if (geteuid() == 0 &&
            (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0))
                return 1;
        if (run_once(1) < 0) /* resources that are made only once exist now */
                return 1;
        long fds = count_entries("/proc/self/fd"), files = count_entries(temporary);
        long mounts = count_mounts(), groups, processes, groups_after, processes_after;
        count_left(&groups, &processes);
        long rss = rss_pages();
        for (int i = 0; i < rounds; i++)
                if (run_once(i) < 0) {
                        failures++;
                        break;
                }
        check("descriptors", fds, count_entries("/proc/self/fd"), 0);
        check("files in $TMPDIR", files, count_entries(temporary), 0);
        check("mounts", mounts, count_mounts(), 0);
        count_left(&groups_after, &processes_after);
        check("cgroups", groups, groups_after, 0);
        check("processes", processes, processes_after, 0);
        check("pages of memory", rss, rss_pages(), 64);
        rmdir(temporary);
        printf("%d passed, %d failed, 0 skipped\n", 6 - failures, failures);
        return failures > 0;
}
