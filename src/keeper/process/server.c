#include "keeper/process/server.h"

#include "base/auto.h"
#include "base/err.h"
#include "keeper/spawn/child.h"
#include "sys/file.h"

_Static_assert(SERVER_KEEPER_FD == CHILD_FIRST_FD && SERVER_LISTENER_FD == CHILD_FIRST_FD + 1 &&
                       2 + SERVER_LISTENERS_MAX <= CHILD_FDS_MAX,
               "where it looks for them");

pid_t server_start(const struct server_setup *s, int *ret_pidfd, struct cella_err *err)
{
        int fds[2 + SERVER_LISTENERS_MAX] = {s->keeper_socket};
        size_t n = 1;
        AUTO(sys_close) int program = sys_openat(AT_FDCWD, s->program, O_PATH, 0);
        if (program < 0)
                return err_set(err, CELLA_NOT_FOUND, program, "cannot start %.150s", s->program);
        for (size_t i = 0; i < s->n_listeners; i++)
                fds[n++] = s->listeners[i];
        if (s->credential >= 0)
                fds[n++] = s->credential;
        const struct child_setup setup = {
                .program = program,
                .path = s->program,
                .argv = s->argv,
                .fds = fds,
                .n_fds = n,
                .keeps_stderr = true, /* its log */
                .change_user = s->change_user,
                .uid = s->uid,
                .gid = s->gid,
        };
        struct child child = CHILD_NONE;
        int r = child_start(&setup, &child, err);
        if (r == 0)
                r = child_confirm(&child, s->program, err);
        if (r < 0) {
                child_end(&child);
                return r;
        }
        *ret_pidfd = child.pidfd;
        return child.pid;
}
