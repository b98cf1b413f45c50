/* init/first.c -- runs a program before a command: the compiler of its source.
 *
 * The process that will become the command runs the compiler as a child and waits. So both are one process
 * group with one number, and a signal to the command reaches both. Until then the process shares init's
 * memory, as its supervisor does, with all signals blocked: a signal that arrives in the meantime is for
 * the program. */
#include "init/first.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

#include "init/spawn.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

struct first {
        const struct request_spawn *what;
        volatile int failure;
};

/* Compiler messages go to stderr, so that they do not mix with the program's output. */
static int place_descriptors(void)
{
        AUTO(sys_close) int null = sys_openat(AT_FDCWD, "/dev/null", O_RDONLY, 0);
        int r = null < 0 ? null : sys_dup3(null, 0, 0);
        return r < 0 ? r : sys_dup3(2, 1, 0);
}

static void init_first_become(void *arg)
{
        struct first *first = arg;
        const struct request_spawn *what = first->what;
        uint64_t none = 0;
        int r = place_descriptors();
        if (r >= 0)
                r = sys_chdir(what->first_cwd);
        if (r >= 0) {
                sys_restore_signals(&none);
                r = spawn_exec(what->first_argv, what->first_env);
        }
        first->failure = r;
        sys_exit(127);
}

/* Exit like a shell after a child was killed, if the signal does not end this process. */
void first_end_as(int status)
{
        uint64_t none = 0;
        if (WIFSIGNALED(status)) {
                sys_restore_signals(&none);
                sys_kill((pid_t)sys_call0(SYS_getpid), WTERMSIG(status));
        }
        sys_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

pid_t first_start(const struct request_spawn *what, void *stack_top)
{
        struct first first = {.what = what};
        pid_t pid = sys_clone(CLONE_VM | CLONE_VFORK | SIGCHLD, stack_top, init_first_become, &first);
        if (pid > 0 && first.failure) {
                sys_wait(pid, NULL, 0, NULL);
                return first.failure;
        }
        return pid;
}

void first_wait(pid_t pid)
{
        int status = 0;
        pid_t dead = sys_wait(pid, &status, 0, NULL);
        if (dead != pid)
                sys_exit(126);
        if (status != 0)
                first_end_as(status);
}
