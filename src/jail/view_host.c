/* jail/view_host.c -- the host's files, for code that runs without isolation.
 *
 * It is still a mount namespace, with a small tmpfs as its root, in which every entry of the host's root
 * directory appears under its own name.  Two entries differ from the host: /workspace, which is removed with
 * the execution, and /proc, which shows the processes that init can end.  Nothing is hidden, and only the
 * root directory itself is read-only.  File permissions of the code's user decide what it can access. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>

#include "base/auto.h"
#include "base/err.h"
#include "jail/view.h"
#include "jail/view_parts.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/raw.h"

#define OWN_FILES 5 /* the same space as in a sandbox */

struct entry { /* the format of getdents64() */
        uint64_t inode;
        int64_t next;
        uint16_t length;
        uint8_t type;
        char name[];
};

static int view_host_fail(struct cella_err *err, int r, const char *name)
{
        return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "mount: cannot show '/%s'", name);
}

static int show_link(int root, const char *name)
{
        char target[4096];
        long n = sys_call4(SYS_readlinkat, root, name, target, sizeof target - 1);
        if (n < 0)
                return (int)n;
        target[n] = '\0';
        return sys_symlinkat(target, AT_FDCWD, name);
}

static int show_tree(int root, const char *name, bool directory)
{
        int r = directory ? sys_mkdirat(AT_FDCWD, name, 0755)
                          : sys_openat(AT_FDCWD, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
        if (r >= 0 && !directory)
                r = sys_close(r);
        AUTO(sys_close) int tree = r < 0 ? r : sys_open_tree_clone(root, name, true);
        return tree < 0 ? tree : sys_move_mount(tree, AT_FDCWD, name);
}

static bool view_host_is_ours(const char *name)
{
        static const char *const names[] = {".", "..", "proc", "workspace"};
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                if (!strcmp(name, names[i]))
                        return true;
        return false;
}

static int show_entries(int root, struct cella_err *err)
{
        enum { DIRECTORY = 4, REGULAR = 8, LINK = 10 };
        _Alignas(struct entry) char buffer[4096];
        long n;
        while ((n = sys_call3(SYS_getdents64, root, buffer, sizeof buffer)) > 0)
                for (const char *p = buffer; p < buffer + n; p += ((const struct entry *)p)->length) {
                        const struct entry *e = (const struct entry *)p;
                        int r = 0;
                        if (view_host_is_ours(e->name))
                                continue;
                        if (e->type == LINK)
                                r = show_link(root, e->name);
                        else if (e->type == DIRECTORY || e->type == REGULAR)
                                r = show_tree(root, e->name, e->type == DIRECTORY);
                        if (r < 0)
                                return view_host_fail(err, r, e->name);
                }
        return n < 0 ? view_host_fail(err, (int)n, "") : 0;
}

int view_build_host(const struct jail_spec *spec, struct cella_err *err)
{
        const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
        int r = view_new_root(spec, "/", OWN_FILES, err);
        if (r < 0)
                return r;
        AUTO(sys_close) int root = sys_openat(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0);
        if (root < 0)
                return view_host_fail(err, root, "");
        if ((r = show_entries(root, err)) < 0)
                return r;
        if ((r = sys_mkdirat(AT_FDCWD, "proc", 0555)) < 0 ||
            (r = sys_mount("proc", "proc", "proc", flags, NULL)) < 0)
                return view_host_fail(err, r, "proc");
        if ((r = sys_mkdirat(AT_FDCWD, "workspace", 0755)) < 0 ||
            (r = sys_mount("workspace", "workspace", NULL, MS_BIND, NULL)) < 0)
                return view_host_fail(err, r, "workspace");
        return 0;
}
