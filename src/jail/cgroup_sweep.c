/* jail/cgroup_sweep.c -- removes the groups of killed owners.
 *
 * The owner of a group holds a lock on it in each hierarchy.  A group that can be locked has no owner. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "jail/cgroup_home.h"
#include "sys/file.h"
#include "sys/process.h"

bool cgroup_still_there(int parent, const char *name, int dir)
{
        struct stat named, held;
        return fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(dir, &held) == 0 &&
               named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

static bool is_ours(const char *name)
{
        size_t len = strlen(CGROUP_PREFIX);
        return !strncmp(name, CGROUP_PREFIX, len) && name[len] &&
               strspn(name + len, "0123456789") == strlen(name + len);
}

/* Calls visit with the name of every sandbox group in a directory, except one. */
static void each_group(int parent, const char *except, void (*visit)(const char *name, void *arg), void *arg)
{
        int copy = sys_openat(parent, ".", O_RDONLY | O_DIRECTORY, 0);
        DIR *dir = copy < 0 ? NULL : fdopendir(copy);
        if (!dir) {
                sys_close(copy);
                return;
        }
        for (struct dirent *e; (e = readdir(dir));)
                if (is_ours(e->d_name) && strcmp(e->d_name, except) != 0)
                        visit(e->d_name, arg);
        closedir(dir);
}

struct sweep {
        const struct cgroup_home *home;
        unsigned removed;
        bool kill; /* kill the processes that are still in a group */
        unsigned busy;
};

/* Kills all processes in the group of a dead owner.  The caller holds its lock. */
static void kill_group(int parent, const char *name)
{
        char path[64], text[4096];
        snprintf(path, sizeof path, "%s/cgroup.kill", name);
        if (sys_write_file(parent, path, "1") == 0)
                return;
        snprintf(path, sizeof path, "%s/cgroup.procs", name);
        AUTO(sys_close) int procs = sys_openat(parent, path, O_RDONLY, 0);
        ssize_t n = procs < 0 ? procs : sys_read(procs, text, sizeof text - 1);
        text[n > 0 ? n : 0] = '\0'; /* the list may be cut off; the next round finds the rest */
        for (char *p = text, *end; *p; p = *end ? end + 1 : end) {
                long pid = strtol(p, &end, 10);
                if (end == p)
                        break;
                if (pid > 1)
                        sys_kill((pid_t)pid, SIGKILL);
        }
        snprintf(path, sizeof path, "%s/freezer.state", name);
        sys_write_file(parent, path, "THAWED");
}

/* Opens and locks a group.  Returns -EWOULDBLOCK if its owner is alive. */
static int lock_group(int parent, const char *name)
{
        AUTO(sys_close) int fd = sys_openat(parent, name, O_RDONLY | O_DIRECTORY, 0);
        int r = fd < 0 ? fd : sys_flock(fd, LOCK_EX | LOCK_NB);
        return r < 0 ? r : cgroup_still_there(parent, name, fd) ? TAKE_FD(fd) : -ENOENT;
}

/* Removes a group that the caller has locked. */
static void sweep_locked(struct sweep *s, int parent, const char *name)
{
        int r = sys_unlinkat(parent, name, AT_REMOVEDIR);
        s->removed += r == 0;
        s->busy += r == -EBUSY;
        if (r == -EBUSY && s->kill)
                kill_group(parent, name);
}

/* Removes a group from all hierarchies.  The first one is last, and only if no other is busy: it is used to
 * find the group again.  An owner holds all of its locks until it dies, so a lock in the first hierarchy
 * answers for the others: that of a live sandbox takes three system calls, not three for each hierarchy. */
static void sweep_name(const char *name, void *arg)
{
        struct sweep *s = arg;
        const struct cgroup_home *home = s->home;
        const unsigned busy = s->busy;
        AUTO(sys_close) int first = lock_group(home->parent[home->first], name);
        if (first == -EWOULDBLOCK)
                return;
        for (int c = N_CONTROLLERS; c-- > 0;) {
                if (home->parent[c] < 0 || home->twin[c] >= 0 || c == home->first)
                        continue;
                AUTO(sys_close) int fd = lock_group(home->parent[c], name);
                if (fd >= 0)
                        sweep_locked(s, home->parent[c], name);
        }
        if (first >= 0 && s->busy == busy)
                sweep_locked(s, home->parent[home->first], name);
}

unsigned cgroup_home_sweep(const struct cgroup_home *home, const char *name)
{
        struct sweep s = {.home = home};
        each_group(home->parent[home->first], name, sweep_name, &s);
        return s.removed;
}

unsigned cgroup_sweep_all(const struct cgroup_home *home)
{
        struct sweep s = {.home = home, .kill = true};
        for (int i = 0; i < 100; i++) {
                s.busy = 0;
                for (int c = 0; c < N_CONTROLLERS; c++)
                        if (home->parent[c] >= 0 && home->twin[c] < 0)
                                each_group(home->parent[c], "", sweep_name, &s);
                if (s.busy == 0)
                        break;
                usleep(10000);
        }
        return s.removed;
}
