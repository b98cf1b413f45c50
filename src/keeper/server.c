/* keeper/server.c -- starts the server, with nothing it does not need.
 *
 * What cannot be done here because the exec would undo it is for the server's own main: not to be
 * dumpable, and its system call filter. */
#include "keeper/server.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

/* Told to the parent by the child that could not become the server. */
struct failure {
        int num;
        char what[60];
};

static int place(const struct server_setup *s, int failures)
{
        int all[2 + SERVER_LISTENERS_MAX] = {s->keeper_socket}, n = 1;
        const int above = SERVER_LISTENER_FD + SERVER_LISTENERS_MAX + 2;
        for (size_t i = 0; i < s->n_listeners; i++)
                all[n++] = s->listeners[i];
        /* First out of each other's way. */
        for (int i = 0; i < n; i++)
                if ((all[i] = sys_dup_above(all[i], above)) < 0)
                        return all[i];
        if ((failures = sys_dup_above(failures, above)) < 0)
                return failures;
        for (int i = 0; i < n; i++) {
                int r = sys_dup3(all[i], SERVER_KEEPER_FD + i, 0);
                if (r < 0)
                        return r;
        }
        int null = sys_openat(AT_FDCWD, "/dev/null", O_RDWR, 0);
        if (null < 0)
                return null;
        sys_dup3(null, STDIN_FILENO, 0);
        sys_dup3(null, STDOUT_FILENO, 0);
        /* The rest goes with the exec. */
        int r = sys_close_range((unsigned)(SERVER_KEEPER_FD + n), ~0u, 1u << 2 /* CLOSE_RANGE_CLOEXEC */);
        return r < 0 ? r : failures;
}

static int drop_bounding(void)
{
        for (int cap = 0; cap < 64; cap++) {
                int r = sys_prctl(PR_CAPBSET_DROP, (unsigned long)cap, 0);
                if (r == -EINVAL)
                        break;
                if (r < 0)
                        return r;
        }
        return 0;
}

static int drop_rest(void)
{
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[2] = {{0}};
        sys_prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0);
        int r = (int)sys_call2(SYS_capset, &header, none);
        return r < 0 ? r : sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0);
}

static int drop_privilege(const struct server_setup *s)
{
        int r;
        if (!s->change_user) {
                drop_bounding(); /* an ordinary user may not, and has nothing to drop */
                return drop_rest();
        }
        /* While there is the right to.  The groups before the user, for the same reason. */
        if ((r = drop_bounding()) < 0 || (r = sys_setgroups_none()) < 0 || (r = sys_setresgid(s->gid)) < 0 ||
            (r = sys_setresuid(s->uid)) < 0 || (r = drop_rest()) < 0)
                return r;
        /* And there must be no way back. */
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

_Noreturn static void child(const struct server_setup *s, pid_t keeper, int program, int failures)
{
        static char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", NULL};
        struct failure f = {0};
        const char *what = "descriptors";
        sigset_t none;
        setpgid(0, 0); /* a Ctrl-C is for the keeper, which tells it */
        for (int i = 1; i < 32; i++)
                signal(i, SIG_DFL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        limits();
        umask(077);
        f.num = place(s, failures);
        if (f.num >= 0) {
                failures = f.num;
                what = "privilege";
                f.num = drop_privilege(s);
        }
        /* After the change of user, which would reset it. */
        if (f.num >= 0 && (f.num = sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0)) >= 0 && getppid() == keeper) {
                what = "its program";
                if (chdir("/") == 0)
                        f.num = sys_execveat(program, "", s->argv, env, AT_EMPTY_PATH);
                if (f.num == -ENOENT ||
                    f.num == -ENOSYS) /* a tool or filter around us that does not know it */
                        f.num = (int)sys_call3(SYS_execve, s->program, s->argv, env);
        }
        memcpy(f.what, what, strlen(what) + 1);
        sys_write(failures, &f, sizeof f);
        sys_exit(127);
}

pid_t server_start(const struct server_setup *s, int *ret_pidfd, struct cella_err *err)
{
        int pipe[2] = {-1, -1}, pidfd = -1;
        struct failure f;
        /* Opened while we may: it can be where the server's user cannot go. */
        AUTO(sys_close) int program = sys_openat(AT_FDCWD, s->program, O_PATH, 0);
        if (program < 0)
                return err_set(err, CELLA_NOT_FOUND, program, "cannot start %.150s", s->program);
        int r = sys_pipe2(pipe, 0);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot make a pipe");
        pid_t keeper = getpid(), pid = sys_fork(0, &pidfd);
        if (pid == 0)
                child(s, keeper, program, pipe[1]);
        sys_close(pipe[1]);
        ssize_t n = pid < 0 ? 0 : sys_read(pipe[0], &f, sizeof f);
        sys_close(pipe[0]);
        if (pid > 0 && n == 0) {
                *ret_pidfd = pidfd;
                return pid;
        }
        if (pid < 0)
                return err_set(err, CELLA_INTERNAL, pid, "cannot start a process");
        sys_wait(pid, NULL, __WALL, NULL);
        sys_close(pidfd);
        f.what[sizeof f.what - 1] = '\0';
        return err_set(err, CELLA_INTERNAL, n == (ssize_t)sizeof f && f.num < 0 ? f.num : -EIO,
                       "cannot start %.100s: %s", s->program, n == (ssize_t)sizeof f ? f.what : "it died");
}
