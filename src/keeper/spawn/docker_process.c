#include "keeper/spawn/docker_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "config.h"
#include "sys/file.h"
#include "sys/process.h"
#include "wire/docker.h"

#define PROGRAM "cella-docker"
#define PATH_SIZE 640
#define END_PATIENCE_US 150000000 /* longer than cella-docker's own limit */

_Static_assert(DOCKER_CONTROL_FD == CHILD_FIRST_FD, "the descriptor numbers must match");

/* Looks beside this program (build directory), then in libexec (installed). */
static int open_program(char path[PATH_SIZE], struct cella_err *err)
{
        static const char *const places[] = {PROGRAM, "../libexec/cella/" PROGRAM};
        char self[512];
        ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
        self[n > 0 ? n : 0] = '\0';
        char *slash = strrchr(self, '/');
        if (slash)
                *slash = '\0';
        for (size_t i = 0; i <= ARRAY_LEN(places); i++) {
                if (i < ARRAY_LEN(places))
                        snprintf(path, PATH_SIZE, "%s/%s", self, places[i]);
                else
                        snprintf(path, PATH_SIZE, "%s/cella/" PROGRAM, CELLA_LIBEXECDIR);
                int fd = access(path, X_OK) == 0 ? sys_openat(AT_FDCWD, path, O_PATH, 0) : -1;
                if (fd >= 0)
                        return fd;
        }
        err_say(err, CELLA_ENGINE_UNAVAILABLE, -ENOENT,
                "the engine docker is not installed: there is no " PROGRAM);
        return err_hint(err,
                        "build it with libcurl (./dev install puts it in place), or use the engine native");
}

static size_t docker_process_add(char *argv[], size_t n, char *option, char *value)
{
        if (!value || !value[0])
                return n;
        argv[n++] = option;
        argv[n++] = value;
        return n;
}

int docker_process_start(const char *home, const struct workspace_policy *policy, struct docker_process *ret,
                         struct cella_err *err)
{
        char path[PATH_SIZE], *argv[20] = {PROGRAM};
        struct child child;
        int socket;
        size_t n = docker_process_add(argv, 1, "--home", (char *)home);
        n = docker_process_add(argv, n, "--host", getenv("DOCKER_HOST"));
        n = docker_process_add(argv, n, "--runtime-dir", getenv("XDG_RUNTIME_DIR"));
        n = docker_process_add(argv, n, "--transport", getenv("CELLA_DOCKER_TRANSPORT"));
        n = docker_process_add(argv, n, "--for", policy ? "server" : NULL);
        n = docker_process_add(argv, n, "--state", policy ? (char *)policy->state : NULL);
        n = docker_process_add(argv, n, "--workspace-root", policy ? (char *)policy->pin : NULL);
        n = docker_process_add(argv, n, "--workspace", policy ? (char *)policy->only : NULL);
        argv[n] = NULL;
        AUTO(sys_close) int program = open_program(path, err);
        if (program < 0)
                return program;
        sys_mkdirat(AT_FDCWD, home, 0700); /* the parent may be writable only for the caller; otherwise the
                                              child reports the error */
        const struct child_setup setup = {
                .program = program, .path = path, .argv = argv, .capabilities = DOCKER_CAPABILITIES};
        int r = child_start_linked(&setup, SOCK_SEQPACKET, &child, &socket, err);
        if (r < 0)
                return r;
        *ret = (struct docker_process){child, socket};
        return 0;
}

void docker_process_end(struct docker_process *p)
{
        struct pollfd fd = {p->child.pidfd, POLLIN, 0};
        sys_close(TAKE_FD(p->socket));
        if (p->child.pid > 0)
                sys_poll(&fd, 1, END_PATIENCE_US);
        child_end(&p->child);
}
