#include "cli/program.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "config.h"

void program_directory(char ret[PROGRAM_DIRECTORY_SIZE])
{
        ssize_t n = readlink("/proc/self/exe", ret, PROGRAM_DIRECTORY_SIZE - 1);
        ret[n > 0 ? n : 0] = '\0';
        char *slash = strrchr(ret, '/');
        if (slash)
                *slash = '\0';
}

/* Looks beside this program, in a directory relative to it, and in an absolute directory. */
static int cli_program_look(const char *name, const char *relative, const char *absolute,
                            char ret[PROGRAM_SIZE], struct cella_err *err)
{
        char self[PROGRAM_DIRECTORY_SIZE];
        program_directory(self);
        snprintf(ret, PROGRAM_SIZE, "%s/%s", self, name);
        if (access(ret, X_OK) == 0)
                return 0;
        snprintf(ret, PROGRAM_SIZE, "%s/%s/%s", self, relative, name);
        if (access(ret, X_OK) == 0)
                return 0;
        snprintf(ret, PROGRAM_SIZE, "%s/%s", absolute, name);
        if (access(ret, X_OK) == 0)
                return 0;
        err_say(err, CELLA_NOT_FOUND, -ENOENT, "%s is not installed", name);
        return err_hint(err, "./dev install puts it in place");
}

int program_find(const char *name, char ret[PROGRAM_SIZE], struct cella_err *err)
{
        return cli_program_look(name, "../libexec/cella", CELLA_LIBEXECDIR "/cella", ret, err);
}

int program_find_cella(char ret[PROGRAM_SIZE], struct cella_err *err)
{
        return cli_program_look("cella", "../../bin", CELLA_BINDIR, ret, err);
}

#define NOBODY_UID 1879048190u /* not used by systems; the uids of sandboxes follow it */

/* Reads the file itself: a static program cannot load the modules of nsswitch. */
static const struct passwd *find_entry(const char *name)
{
        FILE *file = fopen("/etc/passwd", "re");
        struct passwd *entry = NULL;
        while (file && (entry = fgetpwent(file)) && strcmp(entry->pw_name, name) != 0)
                continue;
        if (file)
                fclose(file);
        return entry;
}

int server_user_find(const char *name, struct server_user *ret, struct cella_err *err)
{
        *ret = (struct server_user){geteuid() == 0, geteuid(), getegid()};
        if (!ret->change)
                return name ? err_say(err, CELLA_INVALID_REQUEST, -EPERM, "--user is for root only") : 0;
        const struct passwd *entry = find_entry(name ? name : "cella");
        if (!entry && name)
                return err_say(err, CELLA_INVALID_REQUEST, -ENOENT, "there is no user '%.60s'", name);
        ret->uid = entry ? entry->pw_uid : NOBODY_UID;
        ret->gid = entry ? entry->pw_gid : NOBODY_UID;
        if (ret->uid == 0 || ret->gid == 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EPERM, "--user must not be root");
        return 0;
}
