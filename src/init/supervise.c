/* init/supervise.c -- supervises one of several commands.
 *
 * The parent of the command is a small process of ours, the supervisor. It is a subreaper: every descendant
 * that loses its parent becomes its child. It waits for the command, stores how it ended, and exits; the
 * remaining processes of the command then become children of init and are killed (strangers.c).
 *
 * The supervisor shares init's memory, because a fork would cost five times as much. So it has a stack and
 * a copy of the request in its own mapping, writes only to its slot of the table, and calls no libc
 * function that keeps state. Like init it cannot be traced. The code can kill it; that ends the command. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "init/first.h"
#include "init/init.h"
#include "init/spawn.h"
#include "init/task.h"
#include "init/terminal.h"
#include "init/version.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

/* Memory of supervisor and command; the strings of the request and pointers to them follow. */
struct supervisor_memory {
        char command_stack[12288] __attribute__((aligned(16)));
        char stack[8192] __attribute__((aligned(16)));
        char first_stack[8192] __attribute__((aligned(16)));
        struct task *task;
        struct request_spawn start;
        volatile int failure;
        int master; /* of its terminal, or -1 */
        char *strings[];
};

/* Once the compiler runs, the command can be reported as started. */
static int run_first(struct supervisor_memory *n, pid_t self)
{
        pid_t pid = first_start(&n->start, n->first_stack + sizeof n->first_stack);
        if (pid < 0)
                return pid;
        spawn_report(n->task->tag, &n->start, self, n->master);
        first_wait(pid);
        return 0;
}

/* The process that becomes the command. */
static void run_command(void *arg)
{
        struct supervisor_memory *n = arg;
        pid_t self = (pid_t)sys_call0(SYS_getpid);
        int program = -1;
        n->task->command = self;
        __sync_synchronize();
        if (n->task->early_signal) /* stays pending until the command unblocks signals */
                sys_kill(self, n->task->early_signal);
        int r = spawn_prepare(&n->start, &program);
        if (r >= 0 && n->start.check_argv)
                r = version_settle(&n->start, n->first_stack + sizeof n->first_stack);
        if (r >= 0 && n->start.first_argv)
                r = run_first(n, self);
        n->failure = r < 0 ? r : spawn_become(&n->start, program);
        sys_exit(127);
}

static pid_t start_command(struct supervisor_memory *n)
{
        int slave = -1;
        n->master = -1;
        if (n->start.flags & INIT_TERMINAL) {
                n->master = terminal_open(n->start.columns, n->start.rows, &slave);
                if (n->master < 0)
                        return n->master;
                request_use_terminal(&n->start, slave);
        }
        pid_t pid = sys_clone(CLONE_VM | CLONE_VFORK | SIGCHLD, n->command_stack + sizeof n->command_stack,
                              run_command, n);
        return pid > 0 && n->failure ? n->failure : pid;
}

static void supervise(void *arg)
{
        struct supervisor_memory *n = arg;
        struct task *task = n->task;
        int status;
        sys_prctl(PR_SET_CHILD_SUBREAPER, 1, 0);
        pid_t pid = start_command(n), dead;
        if (pid < 0) {
                task->failure = pid;
                sys_exit(0);
        }
        if (!n->start.first_argv)
                spawn_report(task->tag, &n->start, pid, n->master);
        /* The reader of the output waits until the last copy is closed. */
        sys_close_range(0, ~0u, 0);
        do {
                dead = sys_wait(-1, &status, 0, NULL);
        } while (dead >= 0 && dead != pid);
        if (dead == pid) {
                task->command_status = status;
                task->command_ended = true;
        }
        if (n->start.flags & INIT_MADE)
                sys_unlinkat(AT_FDCWD, n->start.argv[0], 0);
        sys_exit(0);
}

static struct supervisor_memory *supervisor_memory_new(const struct request_spawn *start, const char *data,
                                                       size_t data_len, size_t *ret_len)
{
        size_t pointers = start->n_strings * sizeof(char *),
               len = sizeof(struct supervisor_memory) + pointers + data_len;
        struct supervisor_memory *n =
                mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (n == MAP_FAILED)
                return NULL;
        char *copy = (char *)n->strings + pointers;
        memcpy(copy, data, data_len);
        request_spawn(copy, data_len, n->strings, &n->start);
        memcpy(n->start.fds, start->fds, sizeof n->start.fds);
        n->start.n_fds = start->n_fds;
        *ret_len = len;
        return n;
}

int spawn_supervised(struct task *task, const struct request_spawn *start, const char *data, size_t len)
{
        uint64_t signals;
        struct supervisor_memory *n = supervisor_memory_new(start, data, len, &task->memory_len);
        if (!n)
                return -ENOMEM;
        task->memory = n;
        n->task = task;
        /* Only SIGKILL and SIGSTOP may reach the supervisor: a signal to all processes is for the command. */
        sys_block_signals(&signals);
        pid_t pid = sys_clone(CLONE_VM | SIGCHLD, n->stack + sizeof n->stack, supervise, n);
        sys_restore_signals(&signals);
        if (pid < 0)
                return pid;
        task->pid = pid;
        return 0;
}
