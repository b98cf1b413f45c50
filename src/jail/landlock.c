/* jail/landlock.c -- a second enforcement of the file rules, by Landlock.
 *
 * Allows read and execute everywhere in the view, write where the view is writable and to device nodes, and
 * ioctl only on terminals.  The view of an image is writable except for its read-only mounts, which Landlock
 * cannot express because rules only add to those of parent directories.  An escape would need a mistake in
 * the mounts and one here.  The kernel header of the build machine may be old, so later constants are defined
 * here. */
#include "jail/landlock.h"

#include <errno.h>
#include <linux/landlock.h>

#include "base/auto.h"
#include "base/err.h"
#include "jail/view.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

#define ACCESS_EXECUTE (1u << 0)
#define ACCESS_WRITE_FILE (1u << 1)
#define ACCESS_READ_FILE (1u << 2)
#define ACCESS_READ_DIR (1u << 3)
#define ACCESS_TRUNCATE (1u << 14)      /* ABI 3 */
#define ACCESS_IOCTL_DEV (1u << 15)     /* ABI 5 */
#define SCOPE_ABSTRACT_SOCKET (1u << 0) /* ABI 6 */
#define SCOPE_SIGNAL (1u << 1)

#define ACCESS_READ (ACCESS_EXECUTE | ACCESS_READ_FILE | ACCESS_READ_DIR)

static const char *const terminals[] = {"dev/pts", "dev/tty"};

/* As of ABI 6; older kernels accept a shorter one. */
struct ruleset {
        uint64_t handled_access_fs;
        uint64_t handled_access_net;
        uint64_t scoped;
};

static uint64_t all_access(int abi)
{
        if (abi >= 5)
                return (1u << 16) - 1;
        if (abi >= 3)
                return (1u << 15) - 1;
        return (1u << 14) - 1;
}

static int allow_below(int ruleset, int fd, uint64_t access)
{
        const struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
        return (int)sys_call4(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static int landlock_allow(int ruleset, const char *path, uint64_t access)
{
        if (access == 0) /* this ABI has none of these rights */
                return 0;
        AUTO(sys_close) int fd = sys_openat(AT_FDCWD, path, O_PATH, 0);
        return fd < 0 ? fd : allow_below(ruleset, fd, access);
}

/* Paths are relative to the working directory, which is the new root (not "/" yet). */
static int add_rules(const struct jail_spec *spec, int ruleset, uint64_t all)
{
        int r = landlock_allow(ruleset, spec->walls & WALL_MOUNT ? "." : "/", all & ACCESS_READ);
        /* This /proc is in no tree of the view, so it needs its own rule.  Only init has the descriptor. */
        if (r == 0 && spec->census_fd >= 0)
                r = allow_below(ruleset, spec->census_fd, all & (ACCESS_READ_FILE | ACCESS_READ_DIR));
        if (r < 0 || !(spec->walls & WALL_MOUNT))
                return r;
        /* Everything in an image may be changed, and nothing else is below this root. */
        if (spec->image)
                r = landlock_allow(ruleset, ".", all & ~(uint64_t)ACCESS_IOCTL_DEV);
        if (r < 0)
                return r;
        r = landlock_allow(ruleset, "dev", all & (ACCESS_WRITE_FILE | ACCESS_TRUNCATE));
        /* Terminals need ioctls. */
        for (size_t i = 0; i < ARRAY_LEN(terminals) && r == 0; i++)
                r = landlock_allow(ruleset, terminals[i], all & ACCESS_IOCTL_DEV);
        for (const char *const *d = view_writable; *d && r == 0 && !spec->image; d++)
                r = landlock_allow(ruleset, *d + 1, all);
        for (size_t i = 0; i < spec->n_mounts && r == 0; i++) {
                /* A rule for a single file accepts only file rights. */
                uint64_t file = ACCESS_READ_FILE | ACCESS_EXECUTE | ACCESS_WRITE_FILE | ACCESS_TRUNCATE;
                if (!spec->mounts[i].writable || spec->image)
                        continue;
                r = landlock_allow(ruleset, spec->mounts[i].target + 1, all);
                if (r == -EINVAL)
                        r = landlock_allow(ruleset, spec->mounts[i].target + 1, all & file);
        }
        return r;
}

int landlock_prepare(const struct jail_spec *spec, struct cella_err *err)
{
        int abi = sys_landlock_abi();
        /* ABI 1 forbids all renames and links between directories. */
        if (abi < 2 || !(spec->walls & WALL_LANDLOCK))
                return -1;
        struct ruleset attr = {.handled_access_fs = all_access(abi)};
        size_t size = abi >= 6 ? sizeof attr : sizeof attr.handled_access_fs;
        if (abi >= 6) {
                attr.scoped |= spec->walls & WALL_NET ? SCOPE_ABSTRACT_SOCKET : 0;
                attr.scoped |= spec->walls & WALL_PID ? SCOPE_SIGNAL : 0;
        }
        AUTO(sys_close) int ruleset = (int)sys_call3(SYS_landlock_create_ruleset, &attr, size, 0);
        int r = ruleset < 0 ? ruleset : add_rules(spec, ruleset, attr.handled_access_fs);
        return r < 0 ? err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "landlock: cannot make rules")
                     : TAKE_FD(ruleset);
}

int landlock_restrict(int ruleset, struct cella_err *err)
{
        int r = ruleset < 0 ? 0 : (int)sys_call2(SYS_landlock_restrict_self, ruleset, 0);
        return r < 0 ? err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "landlock: cannot restrict files") : 0;
}
