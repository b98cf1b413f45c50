/* init/strangers.c -- finds and kills the remaining processes of ended commands.
 *
 * A process that loses its parent becomes a child of init. So all processes of an ended command are below
 * children of init that init did not start, and when such a child dies, its own children become children of
 * init. Passes over the list of children therefore reach everything in the end, except a fork bomb, which
 * makes new processes while the killed ones wait for a CPU. For that case a census of all processes also
 * finds the descendants; when all of them have a pending SIGKILL, none can fork.
 *
 * Only init removes children from its list, by waiting; so while init reads the list, it can only grow at
 * its end. */
#include "init/strangers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "init/files/directory.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

#define CENSUS_MAX 32768 /* processes */
#define CENSUS_ROUNDS 2  /* passes at once, because processes are created while we count */

/* To which side a process belongs. */
enum side { UNKNOWN, STRANGE, OURS };

static BULKY struct {
        pid_t pid, parent;
        enum side side;
} census[CENSUS_MAX]; /* ordered by pid, as /proc lists them */
static int n_census;

static int proc_all = -1;

void strangers_see_all(int proc)
{
        proc_all = proc;
}

static bool kill_shown(void);

static bool has_children(void)
{
        siginfo_t info;
        return sys_call5(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT, 0) == 0;
}

static bool is_child(pid_t pid)
{
        siginfo_t info;
        return sys_call5(SYS_waitid, P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT, 0) == 0;
}

static bool kill_stranger(pid_t pid)
{
        if (pid <= 1 || task_has_pid(pid))
                return false;
        sys_kill(pid, SIGKILL);
        return true;
}

/* If the kernel does not list our children (CONFIG_PROC_CHILDREN), each pid is tried; if their maximum is
 * unknown (gVisor), those in /proc are tried. */
static bool kill_by_trying(void)
{
        char text[16];
        bool found = false;
        unsigned end;
        if (sys_read_file(AT_FDCWD, "/proc/sys/kernel/pid_max", text, sizeof text) <= 0)
                return kill_shown();
        end = (unsigned)strtoul(text, NULL, 10);
        for (pid_t pid = 2; (unsigned)pid <= end; pid++)
                if (is_child(pid))
                        found |= kill_stranger(pid);
        return found;
}

static bool kill_listed(int list)
{
        char text[1024];
        bool found = false;
        pid_t pid = 0;
        ssize_t n;
        while ((n = sys_read(list, text, sizeof text)) > 0)
                for (ssize_t i = 0; i < n; i++) {
                        if (text[i] >= '0' && text[i] <= '9') {
                                pid = pid * 10 + (text[i] - '0');
                                continue;
                        }
                        found |= kill_stranger(pid);
                        pid = 0;
                }
        return found;
}

static bool kill_children(void)
{
        AUTO(sys_close) int list = sys_openat(AT_FDCWD, "/proc/thread-self/children", O_RDONLY, 0);
        return list < 0 ? kill_by_trying() : kill_listed(list);
}

/* "PID (NAME) STATE PARENT ..."; NAME may contain any characters. */
static pid_t parent_of(int proc, const char *pid)
{
        char path[32], text[256];
        snprintf(path, sizeof path, "%.16s/stat", pid);
        AUTO(sys_close) int fd = sys_openat(proc, path, O_RDONLY, 0);
        ssize_t n = fd < 0 ? fd : sys_read(fd, text, sizeof text - 1);
        if (n <= 0)
                return 0;
        text[n] = '\0';
        const char *p = strrchr(text, ')');
        return p && strlen(p) > 4 ? (pid_t)strtol(p + 4, NULL, 10) : 0;
}

static void take_census(int proc)
{
        static BULKY struct directory entries;
        const struct directory_entry *e;
        n_census = 0;
        if (directory_seek(&entries, proc, 0) < 0)
                return;
        while (n_census < CENSUS_MAX && directory_next(&entries, &e) > 0) {
                if (e->name[0] < '1' || e->name[0] > '9')
                        continue;
                census[n_census].pid = (pid_t)strtol(e->name, NULL, 10);
                census[n_census].parent = parent_of(proc, e->name);
                census[n_census++].side = UNKNOWN;
        }
}

static int strangers_find(pid_t pid)
{
        int low = 0, high = n_census;
        while (low < high) {
                int middle = (low + high) / 2;
                if (census[middle].pid < pid)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < n_census && census[low].pid == pid ? low : -1;
}

/* Follows the parents to a process of known side, or to a child of init; all processes on the way belong
 * to the same side. If a parent died in the meantime, the side stays unknown until the next census. */
static enum side side_of(int at, pid_t self)
{
        enum side side = UNKNOWN;
        int steps = 0, top = at;
        for (; side == UNKNOWN && top >= 0 && steps < n_census; steps++) {
                if (census[top].side != UNKNOWN)
                        side = census[top].side;
                else if (census[top].parent == self)
                        side = task_has_pid(census[top].pid) ? OURS : STRANGE;
                else
                        top = strangers_find(census[top].parent);
        }
        for (; side != UNKNOWN && steps > 0 && at >= 0; steps--) {
                census[at].side = side;
                at = strangers_find(census[at].parent);
        }
        return side;
}

static bool kill_counted(int proc)
{
        bool found = false;
        pid_t self = getpid();
        take_census(proc);
        for (int i = 0; i < n_census; i++)
                if (census[i].pid != self && side_of(i, self) == STRANGE)
                        found |= kill_stranger(census[i].pid);
        return found;
}

static bool kill_shown(void)
{
        AUTO(sys_close) int proc = sys_openat(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);
        return proc >= 0 && kill_counted(proc);
}

bool strangers_kill(bool everyone)
{
        if (!has_children())
                return false;
        if (everyone) {
                sys_kill(-1, SIGKILL);
                return true;
        }
        if (!kill_children())
                return false;
        AUTO(sys_close)
        int proc = sys_openat(proc_all >= 0 ? proc_all : AT_FDCWD, proc_all >= 0 ? "." : "/proc",
                              O_RDONLY | O_DIRECTORY, 0);
        for (int i = 0; i < CENSUS_ROUNDS && proc >= 0 && kill_counted(proc); i++)
                continue;
        return true;
}
