#include "keeper/process/way.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/process.h"

#define PARTS_MAX 120 /* an exit status must be able to say which directory it is */
#define CANNOT_TRY 255

/* Copies the first n directories of path to ret.  Returns whether path has so many. */
static bool way_part(const char *path, unsigned n, char *ret, size_t size)
{
        const char *end = path;
        for (unsigned i = 0; i < n && end; i++)
                end = strchr(end + 1, '/');
        if (!end || (size_t)(end - path) >= size)
                return false;
        snprintf(ret, size, "%.*s", end == path ? 1 : (int)(end - path), path);
        return true;
}

/* In a child of its own.  Returns the number of the directory, 0 if there is none. */
static int way_try(const char *path, unsigned uid, unsigned gid)
{
        char part[1024];
        if (sys_setgroups_none() < 0 || sys_setresgid(gid) < 0 || sys_setresuid(uid) < 0)
                return CANNOT_TRY;
        for (unsigned i = 0; i < PARTS_MAX && way_part(path, i, part, sizeof part); i++)
                if (access(part, X_OK) < 0)
                        return errno == EACCES ? (int)i + 1 : 0;
        return 0;
}

int way_check(const char *path, const char *option, unsigned uid, unsigned gid, struct cella_err *err)
{
        char part[1024];
        int status = 0;
        if (uid == geteuid())
                return 0;
        pid_t pid = fork();
        if (pid == 0)
                sys_exit(way_try(path, uid, gid));
        if (pid < 0 || sys_wait(pid, &status, 0, NULL) < 0 || !WIFEXITED(status) ||
            WEXITSTATUS(status) == CANNOT_TRY)
                return 0; /* the server itself will say what it cannot open */
        unsigned n = (unsigned)WEXITSTATUS(status);
        if (n == 0 || !way_part(path, n - 1, part, sizeof part))
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EACCES,
                "the server's user (uid %u) cannot enter the directory %.150s", uid, part);
        return err_hint(err, "name another path with %s, or let the user enter: chmod o+x %.110s", option,
                        part);
}
