/* test/kernel/soak.c -- many runs in a row leave nothing behind: no process, cgroup,
 * mount, temporary file or descriptor, and no memory. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

static long count_entries(const char *path, const char *prefix)
{
        long n = 0;
        DIR *dir = opendir(path);
        for (struct dirent *e; dir && (e = readdir(dir));)
                n += !strncmp(e->d_name, prefix, strlen(prefix)) && strcmp(e->d_name, ".") &&
                     strcmp(e->d_name, "..");
        if (dir)
                closedir(dir);
        return n;
}

static long count_lines(const char *command)
{
        long n = 0;
        FILE *f = popen(command, "r");
        for (int c; f && (c = getc(f)) != EOF;)
                n += c == '\n';
        if (f)
                pclose(f);
        return n;
}

/* Processes of the uids that sandboxes get. */
static long count_strangers(void)
{
        return count_lines("ps -eo uid= | awk '$1 >= 1879048192'");
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
        int rounds = argc > 1 ? atoi(argv[1]) : 1000;
        const char *mounts = "cat /proc/self/mountinfo", *cgroups = "find /sys/fs/cgroup -name 'cella-*'";
        if (run_once(1) < 0) /* what is set up once is set up */
                return 1;
        long fds = count_entries("/proc/self/fd", ""), files = count_entries("/tmp", "");
        long mount_lines = count_lines(mounts), groups = count_lines(cgroups), processes = count_strangers();
        long rss = rss_pages();
        for (int i = 0; i < rounds; i++)
                if (run_once(i) < 0) {
                        failures++;
                        break;
                }
        check("descriptors", fds, count_entries("/proc/self/fd", ""), 0);
        check("files in /tmp", files, count_entries("/tmp", ""), 2); /* others use it too */
        check("mounts", mount_lines, count_lines(mounts), 0);
        check("cgroups", groups, count_lines(cgroups), 0);
        check("processes", processes, count_strangers(), 0);
        check("pages of memory", rss, rss_pages(), 64);
        printf("%d passed, %d failed, 0 skipped\n", 6 - failures, failures);
        return failures > 0;
}
