/* jail/join.c -- checks and completes the isolation of a process in a container that another program made.
 *
 * The result depends not only on the request but also on the settings of the container engine and its
 * runtime.  Therefore the namespaces are compared with those outside, the root must be read-only, and no
 * capability may be present.  Then our own filter and Landlock are added, which need only no_new_privs. */
#include "jail/join.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/auto.h"
#include "base/err.h"
#include "jail/landlock.h"
#include "jail/rlimits.h"
#include "jail/seccomp.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

#define READ_ONLY 1 /* ST_RDONLY of statfs */

static int lacks(struct cella_err *err, const char *wall, const char *what)
{
        err_say(err, CELLA_ISOLATION_UNAVAILABLE, -EPERM, "%s: the container %s", wall, what);
        return err_hint(err, "look at the settings of the container engine and of its runtime");
}

/* Whether a namespace differs from the owner's. */
static bool is_own(const char *path, uint64_t outside)
{
        struct statx st;
        int r = sys_statx(AT_FDCWD, path, 0, STATX_INO, &st);
        return r == 0 && outside != 0 && st.stx_ino != outside;
}

static int check_namespaces(struct jail_spec *spec, const uint64_t outside[INIT_NS_COUNT],
                            struct cella_err *err)
{
        static const struct {
                uint32_t wall;
                const char *name, *path;
        } all[INIT_NS_COUNT] = {
                [INIT_NS_USER] = {WALL_USER, "user", "/proc/self/ns/user"},
                [INIT_NS_PID] = {WALL_PID, "pid", "/proc/self/ns/pid"},
                [INIT_NS_MOUNT] = {WALL_MOUNT, "mount", "/proc/self/ns/mnt"},
                [INIT_NS_NET] = {WALL_NET, "net", "/proc/self/ns/net"},
                [INIT_NS_IPC] = {WALL_IPC, "ipc", "/proc/self/ns/ipc"},
                [INIT_NS_UTS] = {WALL_UTS, "uts", "/proc/self/ns/uts"},
                [INIT_NS_CGROUP] = {WALL_CGROUP, "cgroup", "/proc/self/ns/cgroup"},
        };
        for (unsigned i = 0; i < INIT_NS_COUNT; i++) {
                if (!outside || is_own(all[i].path, outside[i]))
                        continue;
                if (all[i].wall & JOIN_MUST)
                        return lacks(err, all[i].name, "shares this namespace with the host");
                /* The limits of the group apply even if its path is visible. */
                if (all[i].wall != WALL_CGROUP)
                        spec->walls &= ~all[i].wall;
        }
        return sys_call0(SYS_getpid) == 1
                       ? 0
                       : lacks(err, "pid", "was started with another init; ours must be the first process");
}

static int check_capabilities(struct cella_err *err)
{
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct have[2] = {{0}};
        int r = (int)sys_call2(SYS_capget, &header, have);
        if (r < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "user: cannot ask for capabilities");
        for (int i = 0; i < 2; i++)
                if (have[i].effective || have[i].permitted || have[i].inheritable)
                        return lacks(err, "user", "has capabilities");
        return 0;
}

static bool is_read_only(const char *path)
{
        struct statfs fs;
        return sys_call2(SYS_statfs, path, &fs) == 0 && (fs.f_flags & READ_ONLY);
}

/* Skips n words of a line. */
static const char *word_at(const char *line, int n)
{
        for (; n > 0; n--) {
                line += strcspn(line, " \n");
                line += *line == ' ';
        }
        return line;
}

/* Reads the list of mounts instead: statfs() of gVisor reports no flags. */
static bool is_listed_read_only(void)
{
        char text[16384];
        ssize_t len = sys_read_file(AT_FDCWD, "/proc/self/mounts", text, sizeof text);
        bool found = false;
        for (const char *line = text; len > 0 && *line; line += *line == '\n') {
                if (!strncmp(word_at(line, 1), "/ ", 2)) {
                        const char *options = word_at(line, 3);
                        if (strncmp(options, "ro", 2) != 0 || (options[2] != ',' && options[2] != ' '))
                                return false;
                        found = true;
                }
                line += strcspn(line, "\n");
        }
        return found;
}

static int check_files(struct jail_spec *spec, bool another_kernel, struct cella_err *err)
{
        if (!is_read_only("/") && !(another_kernel && is_listed_read_only()))
                return lacks(err, "mount", "has a root that can be written to");
        if (!is_read_only("/proc/sys"))
                spec->walls &= ~(uint32_t)WALL_PROC;
        return 0;
}

#define FILE_ROOM (1u << 20) /* the full disk must be reached first, because only that can be reported */

/* The group alone limits the number of processes: without a user namespace, RLIMIT_NPROC would count this
 * user's processes outside too. */
static int set_rlimits(const struct jail_spec *spec, struct cella_err *err)
{
        return rlimits_set(&spec->limits, spec->limits.disk_bytes + FILE_ROOM, RLIMITS_NO_PROCESSES, err);
}

static int close_calls(struct jail_spec *spec, struct cella_err *err)
{
        int r = sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0);
        if (r < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "cannot set no_new_privs");
        AUTO(sys_close) int ruleset = landlock_prepare(spec, err);
        if (ruleset < -1)
                return ruleset;
        if (ruleset < 0)
                spec->walls &= ~(uint32_t)WALL_LANDLOCK;
        if ((r = landlock_restrict(ruleset, err)) < 0)
                return r;
        if ((r = seccomp_load(false)) < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "seccomp: cannot load the filter");
        /* Another kernel may implement filters differently, so test one refused call that would fail with
         * another error without the filter.  With a listener the call would be reported to this process, so
         * it is not tested. */
        if (seccomp_listener() < 0 && sys_call4(SYS_ptrace, -1, 0, 0, 0) != -EPERM)
                return lacks(err, "seccomp", "does not enforce the filter");
        return 0;
}

static int jail_join_finish(struct jail_spec *spec, int control_fd, struct cella_err *err)
{
        int r, last = control_fd;
        sys_umask(022);
        if (seccomp_listener() >= 0 &&
            (r = last = spec->listener_fd = sys_dup3(seccomp_listener(), last + 1, O_CLOEXEC)) < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "hygiene: cannot finish");
        if ((r = sys_close_range((unsigned)last + 1, ~0u, 0)) < 0 ||
            (r = sys_prctl(PR_SET_DUMPABLE, 0, 0)) < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "hygiene: cannot finish");
        return 0;
}

int jail_join(struct jail_spec *spec, const uint64_t outside[INIT_NS_COUNT], int control_fd,
              struct cella_err *err)
{
        int r = sys_chdir("/");
        if (r < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "mount: cannot enter the root directory");
        sys_umask(0);
        sys_setsid();
        /* If the host runs out of memory, the sandbox is killed first; some runtimes do not allow this.
         * Runtimes whose filter refuses keyctl() have made a new keyring already. */
        sys_write_file(AT_FDCWD, "/proc/self/oom_score_adj", "1000");
        sys_new_session_keyring();
        if ((r = check_namespaces(spec, outside, err)) < 0 || (r = check_capabilities(err)) < 0 ||
            (r = check_files(spec, !outside, err)) < 0 || (r = set_rlimits(spec, err)) < 0 ||
            (r = close_calls(spec, err)) < 0)
                return r;
        return jail_join_finish(spec, control_fd, err);
}
