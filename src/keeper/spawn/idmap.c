#include "keeper/spawn/idmap.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"
#include "wire/init.h"

static int write_map(pid_t pid, const char *file, unsigned from, unsigned to, unsigned n)
{
        char path[48], line[40];
        snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
        snprintf(line, sizeof line, "%u %u %u", from, to, n);
        return sys_write_file(AT_FDCWD, path, line);
}

int idmap_open(unsigned from_uid, unsigned from_gid, unsigned to, unsigned n, struct cella_err *err)
{
        char path[48];
        int pidfd = -1, fd = -1;
        /* The namespace needs a process through which its maps are written.  The process does nothing
         * else. */
        pid_t owner = getpid();
        pid_t pid = sys_fork(CLONE_NEWUSER, &pidfd);
        if (pid == 0) {
                sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0);
                while (getppid() == owner)
                        sys_call4(SYS_ppoll, 0, 0, 0, 0);
                sys_exit(0);
        }
        if (pid < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, pid,
                               "user: cannot make a namespace to map owners");
        int r = write_map(pid, "uid_map", from_uid, to, n);
        if (r == 0)
                r = write_map(pid, "gid_map", from_gid, to, n);
        if (r == 0) {
                snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
                AUTO(sys_close) int low = sys_openat(AT_FDCWD, path, O_RDONLY, 0);
                r = fd = low < 0 ? low : sys_dup_above(low, INIT_FREE_FD);
        }
        sys_end_child(pid, pidfd);
        sys_wait(pid, NULL, __WALL, NULL);
        sys_close(pidfd);
        return r < 0 ? err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "user: cannot map owners") : fd;
}
