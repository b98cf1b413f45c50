#include "init/spawn.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "init/init.h"
#include "init/task.h"
#include "init/terminal.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

static const char *init_spawn_variable(char **env, const char *name)
{
        size_t len = strlen(name);
        for (; *env; env++)
                if (!strncmp(*env, name, len) && (*env)[len] == '=')
                        return *env + len + 1;
        return "";
}

/* Gets the next directory of PATH; false: there is none. */
static bool next_path(const char **dir, const char *name, char path[4096])
{
        while (**dir) {
                const char *at = *dir;
                size_t len = strcspn(at, ":"), name_len = strlen(name);
                *dir = at + len + (at[len] == ':');
                if (len == 0 || len + 1 + name_len >= 4096)
                        continue;
                memcpy(path, at, len);
                path[len] = '/';
                memcpy(path + len + 1, name, name_len + 1);
                return true;
        }
        return false;
}

bool spawn_finds(const char *program, char **env)
{
        char path[4096];
        const char *dir = init_spawn_variable(env, "PATH");
        if (strchr(program, '/'))
                return sys_call3(SYS_faccessat, AT_FDCWD, program, X_OK) == 0;
        while (next_path(&dir, program, path))
                if (sys_call3(SYS_faccessat, AT_FDCWD, path, X_OK) == 0)
                        return true;
        return false;
}

/* Tries each directory of PATH in turn, as a shell does; returns the last errno. */
int spawn_exec(char **argv, char **env)
{
        char path[4096];
        const char *dir = init_spawn_variable(env, "PATH");
        int worst = -ENOENT;
        if (strchr(argv[0], '/'))
                return (int)sys_call3(SYS_execve, argv[0], argv, env);
        while (next_path(&dir, argv[0], path)) {
                int r = (int)sys_call3(SYS_execve, path, argv, env);
                if (r == -EACCES)
                        worst = r;
                else if (r != -ENOENT && r != -ENOTDIR)
                        return r;
        }
        return worst;
}

/* Moves the descriptors to 0, 1, 2, ... A program that was passed as a descriptor is not among them: it is
 * closed by its execution. */
static int place_descriptors(const struct request_spawn *what, int *ret_program)
{
        int from[MESSAGE_FDS_MAX], r = 0;
        unsigned n = what->n_fds;
        for (unsigned i = 3; i < n && r >= 0; i++) /* first move them away from each other's numbers */
                r = from[i] = (int)sys_call3(SYS_fcntl, what->fds[i], F_DUPFD_CLOEXEC, n);
        if (r >= 0 && (what->flags & INIT_PROGRAM))
                *ret_program = from[--n];
        for (unsigned i = 0; i < n && r >= 0; i++)
                r = sys_dup3(i < 3 ? what->fds[i] : from[i], (int)i, 0);
        return r;
}

int spawn_prepare(const struct request_spawn *what, int *ret_program)
{
        int r = what->flags & INIT_TERMINAL ? terminal_take(what->fds[0]) : 0;
        /* A process group of its own. Without a terminal not a session: init's session has no terminal
         * either, and a new session costs the kernel a scheduling group. */
        if (!(what->flags & INIT_TERMINAL))
                sys_call2(SYS_setpgid, 0, 0);
        if (r < 0 || (r = place_descriptors(what, ret_program)) < 0)
                return r;
        if ((r = sys_chdir(what->cwd)) < 0)
                return r == -ENOENT ? -ENOTDIR : r; /* to distinguish it from a missing program */
        return 0;
}

int spawn_become(const struct request_spawn *what, int program)
{
        uint64_t none = 0;
        sys_restore_signals(&none);
        if (program >= 0)
                return (int)sys_call5(SYS_execveat, program, "", what->argv, what->env, AT_EMPTY_PATH);
        return spawn_exec(what->argv, what->env);
}

struct start {
        const struct request_spawn *what;
        volatile int failure;
};

static void init_spawn_become(void *arg)
{
        struct start *start = arg;
        int program = -1, r = spawn_prepare(start->what, &program);
        start->failure = r < 0 ? r : spawn_become(start->what, program);
        sys_exit(127);
}

/* The child shares our memory until its exec, and we wait for that: nothing is copied, and `failure` is
 * returned. vfork() is not used, because it copies where musl does not implement it (aarch64). */
static pid_t init_spawn_start(const struct request_spawn *what)
{
        struct sys_stack stack; /* the stack of the child: a part of ours, so its pages are mapped */
        struct start start = {.what = what};
        pid_t pid = sys_clone(CLONE_VM | CLONE_VFORK | SIGCHLD, &stack + 1, init_spawn_become, &start);
        if (pid > 0 && start.failure) {
                sys_wait(pid, NULL, 0, NULL);
                return start.failure;
        }
        return pid;
}

void request_use_terminal(struct request_spawn *what, int slave)
{
        what->fds[0] = what->fds[1] = what->fds[2] = slave;
        what->n_fds = 3;
}

int spawn_alone(struct task *task, struct request_spawn *what)
{
        AUTO(sys_close) int master = -1;
        AUTO(sys_close) int slave = -1;
        if (what->flags & INIT_TERMINAL) {
                master = terminal_open(what->columns, what->rows, &slave);
                if (master < 0)
                        return master;
                request_use_terminal(what, slave);
        }
        pid_t pid = init_spawn_start(what);
        if (pid < 0)
                return pid;
        task->pid = pid;
        spawn_report(task->tag, what, pid, master);
        return 0;
}

void spawn_report(uint32_t tag, const struct request_spawn *what, pid_t pid, int master)
{
        const int32_t number = pid;
        if (what->flags & (INIT_TELL_STARTED | INIT_TERMINAL))
                message_send(INIT_CONTROL_FD, INIT_STARTED, tag, &master, master >= 0, &number, sizeof number,
                             NULL, 0);
}

int spawn(const struct message *message, char *data)
{
        static BULKY char *strings[REQUEST_STRINGS];
        struct request_spawn what;
        struct task *task;
        int r = request_spawn(data, message->len, strings, &what);
        if (r < 0)
                return r;
        if (what.flags & INIT_TERMINAL ? message->n_fds != 0 || (what.flags & INIT_PROGRAM)
                                       : message->n_fds < (what.flags & INIT_PROGRAM ? 4 : 3))
                return -EPROTO;
        if (what.first_argv &&
            message->n_fds > 3) /* INIT_STARTED would use a descriptor number that is taken then */
                return -EPROTO;
        memcpy(what.fds, message->fds, sizeof what.fds);
        what.n_fds = message->n_fds;
        bool alone = what.flags & (INIT_FINAL | INIT_ALONE);
        if ((r = task_new(alone ? TASK_ALONE : TASK_COMMAND, message->tag, &task)) < 0)
                return r;
        task->final = what.flags & INIT_FINAL;
        task->lists = alone && (what.flags & INIT_LIST_ADDED);
        if (task->lists)
                files_look_ahead();
        task->announces = alone && (what.flags & INIT_ANNOUNCES);
        /* A command that waits for another program cannot be a child that init waits for. */
        r = alone && !what.first_argv && !what.check_argv ? spawn_alone(task, &what)
                                                          : spawn_supervised(task, &what, data, message->len);
        if (r < 0)
                task_drop(task);
        return r;
}
