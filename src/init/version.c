/* init/version.c -- finds a program that is requested by version and has no name of its own.
 *
 * `python3.12` is a program; node of version 22 is called `node`, like every other version. The program
 * itself is asked for its version. Its answer is hostile, but affects only its own sandbox. */
#include "init/version.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "init/first.h"
#include "init/spawn.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

#define SAID_MAX 256

struct asking {
        const struct request_spawn *what;
        int out;
        volatile int failure;
};

static void init_version_become(void *arg)
{
        struct asking *asking = arg;
        const struct request_spawn *what = asking->what;
        uint64_t none = 0;
        AUTO(sys_close) int null = sys_openat(AT_FDCWD, "/dev/null", O_RDONLY, 0);
        int r = null < 0 ? null : sys_dup3(null, 0, 0);
        for (int i = 1; i <= 2 && r >= 0; i++) /* some print the version on stdout, some on stderr */
                r = sys_dup3(asking->out, i, 0);
        if (r >= 0) {
                sys_restore_signals(&none);
                r = spawn_exec(what->check_argv, what->first_env);
        }
        asking->failure = r;
        sys_exit(127);
}

static size_t init_version_receive(int fd, char said[SAID_MAX])
{
        size_t len = 0;
        while (len < SAID_MAX - 1) {
                ssize_t n = sys_read(fd, said + len, SAID_MAX - 1 - len);
                if (n <= 0)
                        break;
                len += (size_t)n;
        }
        said[len] = '\0';
        return len;
}

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

/* The first number is the version: v22.11.0 matches 22, but neither 2 nor 221. */
static bool init_version_says(const char *said, const char *version)
{
        size_t len = strlen(version);
        while (*said && !is_digit(*said))
                said++;
        return len > 0 && !strncmp(said, version, len) && !is_digit(said[len]);
}

static int init_version_ask(const struct request_spawn *what, void *stack_top)
{
        char said[SAID_MAX] = "";
        int ends[2], status = 0;
        int r = sys_pipe2(ends, 0);
        if (r < 0)
                return r;
        struct asking asking = {.what = what, .out = ends[1]};
        pid_t pid = sys_clone(CLONE_VM | CLONE_VFORK | SIGCHLD, stack_top, init_version_become, &asking);
        sys_close(ends[1]);
        if (pid > 0 && asking.failure == 0)
                init_version_receive(ends[0], said);
        sys_close(ends[0]);
        if (pid < 0)
                return pid;
        pid = sys_wait(pid, &status, 0, NULL);
        if (asking.failure)
                return asking.failure;
        if (pid > 0 && WIFSIGNALED(status) &&
            WTERMSIG(status) != SIGPIPE) /* SIGPIPE: the output was long enough */
                first_end_as(status);
        return init_version_says(said, what->version) ? 0 : -ENOENT;
}

int version_settle(const struct request_spawn *what, void *stack_top)
{
        char **program = what->first_argv ? what->first_argv : what->argv;
        if (spawn_finds(program[0], what->env))
                return 0;
        int r = init_version_ask(what, stack_top);
        if (r == 0)
                program[0] = what->check_argv[0];
        return r;
}
