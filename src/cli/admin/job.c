#include "cli/admin/job.h"

#include <errno.h>

#include "base/auto.h"
#include "base/err.h"
#include "keeper/spawn/child.h"
#include "sys/file.h"
#include "sys/process.h"

_Static_assert(JOB_FD == CHILD_FIRST_FD, "the descriptors of a job");

int job_run(char *const *argv, const int *fds, size_t n_fds, const struct server_user *user,
            struct cella_err *err)
{
        char path[PROGRAM_SIZE];
        struct child child = CHILD_NONE;
        int status = 0, r = program_find("cella-server", path, err);
        if (r < 0)
                return r;
        AUTO(sys_close) int program = sys_openat(AT_FDCWD, path, O_PATH, 0);
        if (program < 0)
                return err_set(err, CELLA_NOT_FOUND, program, "cannot start %.150s", path);
        const struct child_setup setup = {.program = program,
                                          .path = path,
                                          .argv = argv,
                                          .fds = fds,
                                          .n_fds = n_fds,
                                          .keeps_stderr = true,
                                          .change_user = user->change,
                                          .uid = user->uid,
                                          .gid = user->gid};
        r = child_start(&setup, &child, err);
        if (r == 0)
                r = child_confirm(&child, path, err);
        if (r == 0 && (r = sys_wait(child.pid, &status, __WALL, NULL)) > 0)
                child.pid = 0; /* reaped */
        child_end(&child);
        if (r < 0)
                return r;
        if (!WIFEXITED(status))
                return err_say(err, CELLA_INTERNAL, -EIO, "cella-server was killed by signal %d",
                               WTERMSIG(status));
        return WEXITSTATUS(status);
}
