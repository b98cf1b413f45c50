#include "keeper/spawn/child.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

/* The child sends this to the parent if it cannot execute the program. */
struct failure {
        int num;
        char what[60];
};

/* Moves the descriptors of the child to their final numbers.  Returns the new number of failures or -errno;
 * *program changes too. */
static int spawn_child_place(const struct child_setup *s, int failures, int *program)
{
        int all[CHILD_FDS_MAX];
        const int above = CHILD_FIRST_FD + CHILD_FDS_MAX + 1;
        if (s->n_fds > CHILD_FDS_MAX)
                return -E2BIG;
        /* First move all of them above the final range. */
        for (size_t i = 0; i < s->n_fds; i++)
                if ((all[i] = sys_dup_above(s->fds[i], above)) < 0)
                        return all[i];
        if ((failures = sys_dup_above(failures, above)) < 0)
                return failures;
        if ((*program = sys_dup_above(*program, above)) < 0)
                return *program;
        for (size_t i = 0; i < s->n_fds; i++) {
                int r = sys_dup3(all[i], CHILD_FIRST_FD + (int)i, 0);
                if (r < 0)
                        return r;
        }
        int null = sys_openat(AT_FDCWD, "/dev/null", O_RDWR, 0);
        if (null < 0)
                return null;
        for (int fd = 0; fd < (s->keeps_stderr ? 2 : 3); fd++)
                sys_dup3(null, fd, 0);
        /* All others are closed by the exec. */
        int r = sys_close_range((unsigned)(CHILD_FIRST_FD + s->n_fds), ~0u,
                                1u << 2 /* CLOSE_RANGE_CLOEXEC */);
        return r < 0 ? r : failures;
}

static int drop_bounding(uint32_t keep)
{
        for (int cap = 0; cap < 64; cap++) {
                if (cap < 32 && (keep >> cap & 1))
                        continue;
                int r = sys_prctl(PR_CAPBSET_DROP, (unsigned long)cap, 0);
                if (r == -EINVAL)
                        break;
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The kept capabilities survive the exec only for root, who gets those that are in both the bounding and the
 * permitted set. */
static int drop_rest(uint32_t keep)
{
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct have[2] = {{0}}, rest[2] = {{0}};
        sys_prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0);
        if (keep && sys_call2(SYS_capget, &header, have) == 0)
                rest[0].permitted = rest[0].effective = have[0].permitted & keep;
        int r = (int)sys_call2(SYS_capset, &header, rest);
        return r < 0 ? r : sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0);
}

static int drop_privilege(const struct child_setup *s)
{
        int r;
        if (!s->change_user) {
                drop_bounding(s->capabilities); /* fails for an ordinary user, who has none to drop */
                return drop_rest(s->capabilities);
        }
        /* While the process still has the capabilities; for the same reason, the groups before the user. */
        if ((r = drop_bounding(0)) < 0 || (r = sys_setgroups_none()) < 0 || (r = sys_setresgid(s->gid)) < 0 ||
            (r = sys_setresuid(s->uid)) < 0 || (r = drop_rest(0)) < 0)
                return r;
        /* Check that the process cannot regain privilege. */
        unsigned uid[3], gid[3];
        bool stays = sys_setresuid(0) < 0 && sys_setresgid(0) < 0 &&
                     sys_call3(SYS_getresuid, &uid[0], &uid[1], &uid[2]) == 0 &&
                     sys_call3(SYS_getresgid, &gid[0], &gid[1], &gid[2]) == 0;
        for (int i = 0; i < 3; i++)
                stays = stays && uid[i] == s->uid && gid[i] == s->gid;
        return stays ? 0 : -EPERM;
}

static void limits(void)
{
        struct rlimit files;
        if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
                files.rlim_cur = files.rlim_max;
                setrlimit(RLIMIT_NOFILE, &files);
        }
        sys_setrlimit(RLIMIT_CORE, 0);
}

static int spawn_child_execute(const struct child_setup *s, int program)
{
        static char *const standard[] = {CHILD_ENV, NULL};
        char *const *env = s->env ? s->env : standard;
        char path[32];
        int r = chdir("/") < 0 ? -errno : sys_execveat(program, "", s->argv, env, AT_EMPTY_PATH);
        if (r != -ENOENT && r != -ENOSYS)
                return r;
        /* Fallback for environments (emulators, seccomp filters) without execveat(). */
        snprintf(path, sizeof path, "/proc/self/fd/%d", program);
        return (int)sys_call3(SYS_execve, s->path ? s->path : path, s->argv, env);
}

_Noreturn static void spawn_child_become(const struct child_setup *s, pid_t parent, int failures)
{
        struct failure f = {0};
        const char *what = "its program";
        sigset_t none;
        setpgid(0, 0); /* Ctrl-C goes to the parent only, which then stops this process */
        for (int i = 1; i < 32; i++)
                signal(i, SIG_DFL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        limits();
        umask(077);
        int program = f.num = s->open_program ? s->open_program() : s->program;
        if (f.num >= 0) {
                what = "descriptors";
                f.num = spawn_child_place(s, failures, &program);
        }
        if (f.num >= 0) {
                failures = f.num;
                what = "privilege";
                f.num = drop_privilege(s);
        }
        /* After the change of user, which resets it. */
        if (f.num >= 0 && (f.num = sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0)) >= 0 && getppid() == parent) {
                what = "its program";
                f.num = spawn_child_execute(s, program);
        }
        memcpy(f.what, what, strlen(what) + 1);
        sys_write(failures, &f, sizeof f);
        sys_exit(127);
}

int child_start(const struct child_setup *s, struct child *ret, struct cella_err *err)
{
        int pipe[2] = {-1, -1}, pidfd = -1;
        uint64_t signals;
        int r = sys_pipe2(pipe, 0);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot make a pipe");
        /* No signal handler of the caller may run in the child. */
        sys_block_signals(&signals);
        pid_t parent = getpid(), pid = sys_fork(0, &pidfd);
        if (pid == 0)
                spawn_child_become(s, parent, pipe[1]);
        sys_restore_signals(&signals);
        sys_close(pipe[1]);
        if (pid < 0) {
                sys_close(pipe[0]);
                return err_set(err, CELLA_INTERNAL, pid, "cannot start a process");
        }
        *ret = (struct child){pid, pidfd, pipe[0]};
        return 0;
}

int child_start_linked(const struct child_setup *s, int type, struct child *ret, int *ret_socket,
                       struct cella_err *err)
{
        struct child_setup setup = *s;
        int pair[2], fds[CHILD_FDS_MAX];
        int r = (int)sys_call4(SYS_socketpair, AF_UNIX, type | SOCK_CLOEXEC, 0, pair);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot make a socket for %s", s->argv[0]);
        fds[0] = pair[1];
        for (size_t i = 0; i < s->n_fds; i++)
                fds[i + 1] = s->fds[i];
        setup.fds = fds;
        setup.n_fds = s->n_fds + 1;
        r = child_start(&setup, ret, err);
        sys_close(pair[1]);
        if (r < 0)
                sys_close(pair[0]);
        else
                *ret_socket = pair[0];
        return r;
}

int child_confirm(struct child *c, const char *name, struct cella_err *err)
{
        struct failure f;
        if (c->failure < 0)
                return 0;
        ssize_t n = sys_read(c->failure, &f, sizeof f);
        sys_close(TAKE_FD(c->failure));
        if (n == 0)
                return 0;
        bool whole = n == (ssize_t)sizeof f;
        if (whole)
                f.what[sizeof f.what - 1] = '\0';
        return err_set(err, CELLA_INTERNAL, whole && f.num < 0 ? f.num : -EIO, "cannot start %.100s: %s",
                       name, whole ? f.what : "it died");
}

void child_kill(const struct child *c)
{
        if (c->pid > 0)
                sys_end_child(c->pid, c->pidfd);
}

void child_end(struct child *c)
{
        child_kill(c);
        if (c->pid > 0)
                sys_wait(c->pid, NULL, __WALL, NULL);
        sys_close(c->pidfd);
        sys_close(c->failure);
        *c = CHILD_NONE;
}
