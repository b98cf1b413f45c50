#include "cli/admin/server_user.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

#define NOBODY_UID 1879048190u /* a number nothing else hands out; those of sandboxes follow it */

/* From the file itself: a static program has no way to the other places a system may ask. */
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
