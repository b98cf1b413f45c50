/* init/strangers.c -- finding and killing what ended commands left.
 *
 * A process that loses its parent becomes our child.  So the processes of an ended command are all
 * below children of ours that we did not start, and each of those that dies hands us its own.  A
 * fork bomb is outrun: killing one takes a microsecond, making one fifty.
 *
 * Only we take children off our list, by waiting; so while we read it, it grows at its end at most. */
#include "init/strangers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

#define PIDS_MAX 4194304u /* of any Linux */

static bool is_child(pid_t pid)
{
        siginfo_t info;
        return sys_call5(SYS_waitid, P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT, 0) == 0;
}

static bool has_children(void)
{
        siginfo_t info;
        return sys_call5(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT, 0) == 0;
}

static bool kill_stranger(pid_t pid)
{
        if (pid <= 1 || task_has_pid(pid))
                return false;
        sys_kill(pid, SIGKILL);
        return true;
}

/* Where the kernel does not list our children (CONFIG_PROC_CHILDREN), each number is tried. */
static bool kill_by_trying(void)
{
        char text[16];
        bool found = false;
        unsigned end = PIDS_MAX;
        if (sys_read_file(AT_FDCWD, "/proc/sys/kernel/pid_max", text, sizeof text) > 0)
                end = (unsigned)strtoul(text, NULL, 10);
        for (pid_t pid = 2; (unsigned)pid <= end; pid++)
                if (is_child(pid))
                        found |= kill_stranger(pid);
        return found;
}

/* Kills while it reads: what is killed late has forked by then. */
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

bool strangers_kill(bool everyone)
{
        if (!has_children())
                return false;
        if (everyone) {
                sys_kill(-1, SIGKILL);
                return true;
        }
        AUTO(sys_close) int list = sys_openat(AT_FDCWD, "/proc/thread-self/children", O_RDONLY, 0);
        return list < 0 ? kill_by_trying() : kill_listed(list);
}
