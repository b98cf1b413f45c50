#include "keeper/spawn/subordinate.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "jail/spec.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

#define UID_TOOL "/usr/bin/newuidmap"
#define GID_TOOL "/usr/bin/newgidmap"

/* The tools may ask a directory service that does not answer, and the caller makes no other sandbox
 * meanwhile.  After a tool was killed, sandboxes have one user for a while. */
#define TOOL_PATIENCE_US 5000000
#define TOOL_DEATH_US 1000000
#define TOOL_REST_US 60000000

static int64_t resting_until; /* 0: no tool was killed */

/* "NAME:FIRST:COUNT" in each line; NAME may be a number.  Finds the first range that is long enough and does
 * not contain the user's own id, which is mapped already. */
static bool find_range(const char *path, const char *name, unsigned own, unsigned *ret)
{
        char line[256], number[16];
        bool found = false;
        FILE *f = fopen(path, "re");
        snprintf(number, sizeof number, "%u", geteuid());
        while (f && !found && fgets(line, sizeof line, f)) {
                char *first = strchr(line, ':'), *count = first ? strchr(first + 1, ':') : NULL, *end;
                if (!count)
                        continue;
                *first++ = *count++ = '\0';
                if (strcmp(line, number) != 0 && (!name || strcmp(line, name) != 0))
                        continue;
                unsigned long from = strtoul(first, &end, 10),
                              n = end == first ? 0 : strtoul(count, NULL, 10);
                found = n >= JAIL_IDS - 1 && from > 0 && from <= 0xfffffffeul - JAIL_IDS &&
                        own - (unsigned)from >= JAIL_IDS - 1;
                *ret = (unsigned)from;
        }
        if (f)
                fclose(f);
        return found;
}

bool subordinate_find(struct subordinate *ret)
{
        if (resting_until && clock_us() < resting_until)
                return false;
        const struct passwd *user = getpwuid(geteuid());
        const char *name = user ? user->pw_name : NULL;
        /* The two programs need their set-user-id bits. */
        return geteuid() != 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 && access(UID_TOOL, X_OK) == 0 &&
               access(GID_TOOL, X_OK) == 0 && find_range("/etc/subuid", name, geteuid(), &ret->uid) &&
               find_range("/etc/subgid", name, getegid(), &ret->gid);
}

/* Whether the process has ended, or does so within this time.  The wait continues after a signal. */
static bool ends_within(int pidfd, int64_t patience_us)
{
        const int64_t until = clock_us() + patience_us;
        struct pollfd fd = {.fd = pidfd, .events = POLLIN};
        int r;
        do {
                const int64_t left = until - clock_us();
                r = sys_poll(&fd, 1, left > 0 ? left : 0);
        } while (r == -EINTR);
        return r != 0; /* an error: waitpid() must tell */
}

/* Waits until a tool has ended.  Kills it if it takes too long: it has the user's real uid, so that is
 * permitted. */
static void subordinate_await(pid_t tool)
{
        AUTO(sys_close) int pidfd = (int)sys_call2(SYS_pidfd_open, tool, 0);
        int options = 0;
        if (pidfd >= 0 && !ends_within(pidfd, TOOL_PATIENCE_US)) {
                resting_until = clock_us() + TOOL_REST_US;
                sys_end_child(tool, pidfd);
                options = ends_within(pidfd, TOOL_DEATH_US) ? 0 : WNOHANG; /* it may hang in the kernel */
        }
        sys_wait(tool, NULL, options, NULL);
}

static void subordinate_run(const char *program, pid_t pid, unsigned own, unsigned first)
{
        static char *const env[] = {"PATH=/usr/bin:/bin", "LANG=C", NULL};
        char words[4][16];
        snprintf(words[0], sizeof words[0], "%d", (int)pid);
        snprintf(words[1], sizeof words[1], "%u", own);
        snprintf(words[2], sizeof words[2], "%u", first);
        snprintf(words[3], sizeof words[3], "%u", JAIL_IDS - 1);
        char *const argv[] = {(char *)program, words[0], "0", words[1], "1", "1", words[2], words[3], NULL};
        posix_spawn_file_actions_t actions;
        pid_t child = 0;
        if (posix_spawn_file_actions_init(&actions) != 0)
                return;
        /* It says nothing: the result is read from the map. */
        if (posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
            posix_spawn(&child, program, &actions, NULL, argv, env) != 0)
                child = 0;
        posix_spawn_file_actions_destroy(&actions);
        if (child > 0)
                subordinate_await(child);
}

static bool is_mapped(pid_t pid, const char *which)
{
        char path[40], text[128];
        snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, which);
        return sys_read_file(AT_FDCWD, path, text, sizeof text) > 0;
}

int subordinate_map(const struct subordinate *ids, pid_t pid)
{
        subordinate_run(GID_TOOL, pid, getegid(), ids->gid);
        if (!is_mapped(pid, "gid_map"))
                return -EAGAIN;
        subordinate_run(UID_TOOL, pid, geteuid(), ids->uid);
        return is_mapped(pid, "uid_map") ? 0 : -EPERM;
}
