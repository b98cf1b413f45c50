/* jail/join.c -- a process behind walls that somebody else raised.
 *
 * What a container engine was asked for and what it did are two things: its own settings, and those of the
 * runtime below it, have their say.  So the namespaces are compared with those outside, the root must refuse
 * to be written to, and no capability may be there.  On top of that come our own filter and Landlock, which
 * need no privilege once there can be no new one. */
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

/* Whether a namespace is another than the owner's. */
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
                /* The groups are there whether or not their names can be seen. */
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

/* The word after n others of a line. */
static const char *word_at(const char *line, int n)
{
        for (; n > 0; n--) {
                line += strcspn(line, " \n");
                line += *line == ' ';
        }
        return line;
}

/* As the list of mounts says: gVisor's statfs() tells no flags. */
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

#define FILE_ROOM (1u << 20) /* the full disk has to be met first, because only that can be told */

/* The number of processes is the group's alone: without a user namespace, a limit for each user would count
 * what this user does outside. */
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
        if ((r = seccomp_load()) < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "seccomp: cannot load the filter");
        /* Another kernel's idea of a filter may be another.  A call that is refused, and would be with
         * another error without; where somebody is told of it, that is us. */
        if (seccomp_listener() < 0 && sys_call4(SYS_ptrace, -1, 0, 0, 0) != -EPERM)
                return lacks(err, "seccomp", "does not hold to the filter");
        return 0;
}

static int finish(struct jail_spec *spec, int control_fd, struct cella_err *err)
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
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "mount: cannot stand in the root");
        sys_umask(0);
        sys_setsid();
        /* Should the host run out of memory, the sandbox goes first; a runtime that does not let us has its
         * own idea of that.  Its filter refuses keys, and it has made a new keyring then. */
        sys_write_file(AT_FDCWD, "/proc/self/oom_score_adj", "1000");
        sys_new_session_keyring();
        if ((r = check_namespaces(spec, outside, err)) < 0 || (r = check_capabilities(err)) < 0 ||
            (r = check_files(spec, !outside, err)) < 0 || (r = set_rlimits(spec, err)) < 0 ||
            (r = close_calls(spec, err)) < 0)
                return r;
        return finish(spec, control_fd, err);
}
