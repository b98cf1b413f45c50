/* cli/bench/bench_memory.c -- memory of waiting sandboxes.
 *
 * PSS, in which the kernel divides shared pages among the processes that share them, summed over every
 * process of a sandbox: those below the keeper except its server and its egress process.  Also the decrease
 * of the machine's available memory, which includes the memory that the kernel itself needs for them (and
 * changes by other programs). */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/bench.h"

struct process {
        pid_t pid, parent;
        bool server, daemon; /* the server; it or the egress process */
};

struct processes {
        struct process *list;
        size_t n, room;
};

static int bench_memory_add(struct processes *all, const struct process *p)
{
        if (all->n == all->room) {
                size_t room = all->room ? 2 * all->room : 256;
                struct process *list = reallocarray(all->list, room, sizeof *list);
                if (!list)
                        return -ENOMEM;
                all->list = list;
                all->room = room;
        }
        all->list[all->n++] = *p;
        return 0;
}

/* Returns false if the process is gone. */
static bool read_stat(const char *pid, struct process *ret)
{
        char path[300], text[512] = "";
        snprintf(path, sizeof path, "/proc/%s/stat", pid);
        FILE *f = fopen(path, "re");
        if (!f)
                return false;
        bool read = fgets(text, sizeof text, f) != NULL;
        fclose(f);
        const char *name = strchr(text, '('), *end = strrchr(text, ')');
        if (!read || !name || !end)
                return false;
        *ret = (struct process){.pid = atoi(text), .server = !strncmp(name, "(cella-server)", 14)};
        ret->daemon = ret->server || !strncmp(name, "(memfd:egress)", 14);
        char state;
        return sscanf(end + 1, " %c %d", &state, &ret->parent) == 2;
}

static int list_processes(struct processes *ret)
{
        DIR *dir = opendir("/proc");
        struct process p;
        int r = 0;
        if (!dir)
                return -errno;
        for (struct dirent *e; r == 0 && (e = readdir(dir));)
                if (isdigit((unsigned char)e->d_name[0]) && read_stat(e->d_name, &p))
                        r = bench_memory_add(ret, &p);
        closedir(dir);
        return r;
}

/* Returns the value of a line "Name:   123 kB" of a file, in bytes; or -errno. */
static int64_t read_line(const char *path, const char *name)
{
        char line[160];
        long long kib = -1;
        FILE *f = fopen(path, "re");
        if (!f)
                return -errno;
        while (kib < 0 && fgets(line, sizeof line, f))
                if (!strncmp(line, name, strlen(name)))
                        kib = atoll(line + strlen(name));
        fclose(f);
        return kib < 0 ? -ESRCH : kib * 1024;
}

static int64_t pss(pid_t pid)
{
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
        int64_t size = read_line(path, "Pss:");
        return size == -ENOENT || size == -ESRCH ? 0 : size; /* it has ended */
}

/* Returns the PSS of a process and all its descendants. */
static int64_t pss_below(const struct processes *all, pid_t pid)
{
        int64_t sum = pss(pid);
        for (size_t i = 0; i < all->n && sum >= 0; i++)
                if (all->list[i].parent == pid) {
                        int64_t more = pss_below(all, all->list[i].pid);
                        sum = more < 0 ? more : sum + more;
                }
        return sum;
}

static int sum_up(const struct processes *all, pid_t keeper, struct bench_usage *ret)
{
        int64_t own = pss(keeper);
        if (own < 0)
                return (int)own;
        ret->daemon_pss = (uint64_t)own;
        for (size_t i = 0; i < all->n; i++) {
                const struct process *p = &all->list[i];
                if (p->parent != keeper)
                        continue;
                int64_t size = pss_below(all, p->pid);
                if (size < 0)
                        return (int)size;
                ret->sandboxes += p->daemon ? 0 : 1;
                *(p->daemon ? &ret->daemon_pss : &ret->sandboxes_pss) += (uint64_t)size;
        }
        return 0;
}

int bench_usage_read(const struct bench_daemon *d, struct bench_usage *ret)
{
        struct processes all = {0};
        struct bench_usage u = {0};
        int64_t available = read_line("/proc/meminfo", "MemAvailable:");
        int r = list_processes(&all);
        if (r == 0)
                r = sum_up(&all, d->pid, &u);
        free(all.list);
        u.available = available < 0 ? 0 : (uint64_t)available;
        if (r == 0)
                *ret = u;
        return r;
}

void bench_usage_compare(const struct bench_usage *before, const struct bench_usage *after,
                         struct bench_memory *ret)
{
        int64_t n = (int64_t)after->sandboxes;
        *ret = (struct bench_memory){.done = true, .sandboxes = after->sandboxes};
        if (n == 0)
                return;
        ret->pss = after->sandboxes_pss / after->sandboxes;
        if (after->daemon_pss > before->daemon_pss)
                ret->daemon_pss = (after->daemon_pss - before->daemon_pss) / after->sandboxes;
        ret->available = ((int64_t)before->available - (int64_t)after->available) / n;
}

static uint64_t count_files(pid_t pid)
{
        char path[40];
        uint64_t n = 0;
        snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
        DIR *dir = opendir(path);
        while (dir && readdir(dir))
                n++;
        if (dir)
                closedir(dir);
        return n > 2 ? n - 2 : 0;
}

void bench_count_files(const struct bench_daemon *d, uint64_t *ret_keeper, uint64_t *ret_server)
{
        struct processes all = {0};
        *ret_keeper = count_files(d->pid);
        *ret_server = 0;
        if (list_processes(&all) == 0)
                for (size_t i = 0; i < all.n; i++)
                        if (all.list[i].server && all.list[i].parent == d->pid)
                                *ret_server = count_files(all.list[i].pid);
        free(all.list);
}
