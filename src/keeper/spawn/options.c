#include "keeper/spawn/options.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/limits.h"
#include "wire/mounts.h"

int options_check_target(const char *target, struct cella_err *err)
{
        const char *why = mounts_target_wrong(target);
        if (!why)
                return 0;
        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "mount target '%.100s' %s", target, why);
}

static int check_readable(const char *what, const char *path, bool writable, struct cella_err *err)
{
        struct stat st;
        if (stat(path, &st) < 0)
                return err_set(err, CELLA_INVALID_REQUEST, -errno, "%s '%.120s'", what, path);
        bool directory = S_ISDIR(st.st_mode);
        if (!directory && !S_ISREG(st.st_mode))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "%s '%.120s' is neither a file nor a directory", what, path);
        /* Root can read everything, but the code gets the rights of the owner: see idmap.h. */
        mode_t need = (directory ? 0500u : 0400u) | (writable ? 0200u : 0u);
        int r = access(path, (directory ? R_OK | X_OK : R_OK) | (writable ? W_OK : 0)) < 0 ? -errno : 0;
        if (r == 0 && geteuid() == 0 && (st.st_mode & need) != need)
                r = -EACCES;
        return r < 0 ? err_set(err, CELLA_INVALID_REQUEST, r, "%s '%.120s' cannot be %s", what, path,
                               writable ? "read and written" : "read")
                     : 0;
}

static int check_workspace(const struct cella_options *options, struct cella_err *err)
{
        struct stat st;
        if (!options->workspace)
                return 0;
        int r = check_readable("workspace", options->workspace, options->workspace_writable, err);
        if (r < 0)
                return r;
        if (stat(options->workspace, &st) == 0 && !S_ISDIR(st.st_mode))
                return err_say(err, CELLA_INVALID_REQUEST, -ENOTDIR, "workspace '%.120s' is not a directory",
                               options->workspace);
        return 0;
}

int options_check(const struct cella_options *options, struct cella_err *err)
{
        int r = limits_check(&options->limits, err);
        if (r == 0)
                r = check_workspace(options, err);
        if (r == 0 && options->n_mounts > OPTIONS_MOUNTS_MAX)
                r = err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "more than %d mounts", OPTIONS_MOUNTS_MAX);
        for (size_t i = 0; i < options->n_mounts && r == 0; i++) {
                const struct cella_mount *m = &options->mounts[i];
                r = options_check_target(m->target, err);
                if (r == 0)
                        r = check_readable("mount", m->source, m->writable, err);
        }
        return r;
}
