/* init/spawn.c -- starting a command in the sandbox, and giving it its file. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "init/init.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

static char *strings[INIT_STRINGS_MAX + 2]; /* argv, NULL, env, NULL */

struct start {
        char *cwd, **argv, **env;
        bool final;
};

/* Points into data; every string must end within it. */
static int parse(const struct message *message, char *data, struct start *ret)
{
        struct init_spawn head;
        if (message->len < sizeof head || message->n_fds != 3)
                return -EPROTO;
        memcpy(&head, data, sizeof head);
        if (head.argc == 0 || head.argc > INIT_STRINGS_MAX || head.envc > INIT_STRINGS_MAX - head.argc)
                return -E2BIG;
        char *p = data + sizeof head, *end = data + message->len;
        size_t used = 0;
        *ret = (struct start){.cwd = p, .argv = strings, .final = head.flags & INIT_FINAL};
        for (uint32_t i = 0; i < 1 + head.argc + head.envc; i++) {
                char *nul = memchr(p, '\0', (size_t)(end - p));
                if (!nul)
                        return -EPROTO;
                if (i > 0)
                        strings[used++] = p;
                if (i == head.argc) {
                        strings[used++] = NULL;
                        ret->env = strings + used;
                }
                p = nul + 1;
        }
        strings[used] = NULL;
        return p == end ? 0 : -EPROTO;
}

static const char *variable(char **env, const char *name)
{
        size_t len = strlen(name);
        for (; *env; env++)
                if (!strncmp(*env, name, len) && (*env)[len] == '=')
                        return *env + len + 1;
        return "";
}

/* Tries each directory of PATH in turn, as a shell does; the last word is the errno. */
static int exec_search(char **argv, char **env)
{
        char path[4096];
        int worst = -ENOENT;
        if (strchr(argv[0], '/'))
                return (int)sys_call3(SYS_execve, argv[0], argv, env);
        for (const char *dir = variable(env, "PATH"); *dir;) {
                size_t len = strcspn(dir, ":"), name_len = strlen(argv[0]);
                if (len > 0 && len + 1 + name_len < sizeof path) {
                        memcpy(path, dir, len);
                        path[len] = '/';
                        memcpy(path + len + 1, argv[0], name_len + 1);
                        int r = (int)sys_call3(SYS_execve, path, argv, env);
                        if (r == -EACCES)
                                worst = r;
                        else if (r != -ENOENT && r != -ENOTDIR)
                                return r;
                }
                dir += len + (dir[len] == ':');
        }
        return worst;
}

/* In the child of vfork: shares init's memory until it has become the command. */
__attribute__((noinline)) static int become(const int fds[3], const struct start *start)
{
        uint64_t none = 0;
        int r;
        for (int i = 0; i < 3; i++)
                if ((r = sys_dup3(fds[i], i, 0)) < 0)
                        return r;
        if ((r = sys_chdir(start->cwd)) < 0)
                return r == -ENOENT ? -ENOTDIR : r; /* tells it from a missing program */
        /* A group of its own.  Not a session: init's has no terminal either, and making one
         * costs the kernel a scheduling group. */
        sys_call2(SYS_setpgid, 0, 0);
        sys_restore_signals(&none);
        return exec_search(start->argv, start->env);
}

int spawn(const struct message *message, char *data, bool *ret_final)
{
        struct start start;
        volatile int failure = 0;
        int r = parse(message, data, &start);
        if (r < 0)
                return r;
        /* Shares memory until exec, on purpose: nothing to copy, and `failure` comes back.
         * NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork) */
        pid_t pid = vfork();
        if (pid == 0) {
                /* NOLINTNEXTLINE(clang-analyzer-unix.Vfork): system calls and its own stack only */
                failure = become(message->fds, &start);
                _exit(127);
        }
        if (pid < 0)
                return -errno;
        if (failure) {
                sys_wait(pid, NULL, 0, NULL);
                return failure;
        }
        *ret_final = start.final;
        return pid;
}

int put_file(const struct message *message, const char *data)
{
        struct init_put_file head;
        char name[256];
        if (message->len < sizeof head)
                return -EPROTO;
        memcpy(&head, data, sizeof head);
        size_t rest = message->len - sizeof head;
        if (head.name_len == 0 || head.name_len >= sizeof name || head.name_len > rest)
                return -ENAMETOOLONG;
        memcpy(name, data + sizeof head, head.name_len);
        name[head.name_len] = '\0';
        if (strlen(name) != head.name_len || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
                return -EINVAL;
        AUTO(sys_close) int dir = sys_openat(AT_FDCWD, "/run", O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
        if (dir < 0)
                return dir;
        /* A second run in the same sandbox brings its own. */
        sys_unlinkat(dir, name, 0);
        AUTO(sys_close)
        int fd = sys_openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, head.mode & 0777);
        if (fd < 0)
                return fd;
        return sys_write_all(fd, data + sizeof head + head.name_len, rest - head.name_len);
}
