/* jail/workspace.c -- decides which directories of the host the server may mount in a sandbox.
 *
 * Everything is opened first and then checked by descriptor, so that it cannot be exchanged in between.
 * Magic links of /proc are not followed: they could lead into a mount namespace that the server made, in
 * which paths mean something else. */
#include "jail/workspace.h"

#include <errno.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"
#include "wire/docker.h"
#include "wire/mounts.h"

static const char *const system_directories[] = {
        "/bin",
        "/boot",
        "/dev",
        "/etc",
        "/lib",
        "/lib32",
        "/lib64",
        "/libx32",
        "/proc",
        "/root",
        "/run",
        "/sbin",
        "/sys",
        "/usr",
        "/var/backups",
        "/var/log",
        "/var/mail",
        "/var/lib/dpkg",
        "/var/lib/docker",
        "/var/lib/containers",
        "/var/lib/rpm",
        "/var/lib/systemd",
        "/var/spool",
};

/* Whether one of the paths is the other, or contains it. */
static bool jail_workspace_overlap(const char *a, const char *b)
{
        return mounts_is_in(a, b) || mounts_is_in(b, a);
}

bool workspace_is_of_system(const char *path)
{
        for (size_t i = 0; i < ARRAY_LEN(system_directories); i++)
                if (jail_workspace_overlap(path, system_directories[i]))
                        return true;
        return false;
}

bool workspace_is_allowed(const struct workspace_policy *p, const char *path)
{
        char docker[KEEPER_PATH_MAX + 16];
        snprintf(docker, sizeof docker, "%s" DOCKER_HOME, p->state);
        if (path[0] != '/' || jail_workspace_overlap(path, p->state) || jail_workspace_overlap(path, docker))
                return false;
        if (p->only) /* the user named it on the command line */
                return !strcmp(path, p->only);
        return !workspace_is_of_system(path) && (!p->pin || mounts_is_in(path, p->pin));
}

static int open_dir(int at, const char *path, uint64_t resolve)
{
        struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = resolve};
        return (int)sys_call4(SYS_openat2, at, path, &how, sizeof how);
}

/* Returns the path of an open descriptor.  Fails if the path no longer leads to the same file. */
static int real_path(int fd, char *ret, size_t size)
{
        char link[32];
        struct stat open, named;
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, ret, size);
        if (n < 0)
                return -errno;
        if ((size_t)n >= size)
                return -ENAMETOOLONG;
        ret[n] = '\0';
        if (fstat(fd, &open) < 0 || lstat(ret, &named) < 0)
                return -errno;
        return open.st_dev == named.st_dev && open.st_ino == named.st_ino ? 0 : -ENOENT;
}

/* Makes the directory as the owner of the parent.  With a later chown, another user could exchange the
 * directory in between. */
static int make_dir(int parent, const char *name)
{
        struct stat st;
        if (fstat(parent, &st) < 0)
                return -errno;
        int dumpable = sys_prctl(PR_GET_DUMPABLE, 0, 0);
        setfsgid(st.st_gid);
        setfsuid(st.st_uid);
        int r = sys_mkdirat(parent, name, 0700);
        setfsuid(geteuid());
        setfsgid(getegid());
        /* Changing the fsuid clears the dumpable flag.  Children need it for their own /proc. */
        if (dumpable == 1)
                sys_prctl(PR_SET_DUMPABLE, 1, 0);
        return r == -EEXIST ? 0 : r;
}

static int open_persistent(const struct workspace_policy *p, const char *name, struct cella_err *err)
{
        struct stat st;
        AUTO(sys_close)
        int fd = open_dir(p->workspaces, name, RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_NO_XDEV);
        if (fd < 0)
                return err_set(err, CELLA_NOT_FOUND, fd, "workspace '%s'", name);
        if (fstat(fd, &st) < 0 || st.st_uid != p->owner)
                return err_say(err, CELLA_ACCESS_DENIED, -EPERM, "workspace '%s' belongs to another user",
                               name);
        return TAKE_FD(fd);
}

static int refused(const char *what, const char *path, const struct workspace_policy *p,
                   struct cella_err *err)
{
        err_say(err, CELLA_ACCESS_DENIED, -EPERM, "%s '%.120s' is not allowed", what, path);
        return p->pin ? err_hint(err, "cella serve --workspace-root allows directories in %.100s", p->pin)
                      : err_hint(err, "choose a directory that does not belong to the system");
}

static int open_root(const struct workspace_policy *p, const char *root, struct cella_err *err)
{
        char path[KEEPER_PATH_MAX];
        AUTO(sys_close) int fd = open_dir(AT_FDCWD, root, RESOLVE_NO_MAGICLINKS);
        int r = fd < 0 ? fd : real_path(fd, path, sizeof path);
        /* The only workspace is checked by itself: its parent may be any directory. */
        if (r == -ELOOP || (r == 0 && !p->only && !workspace_is_allowed(p, path)))
                return refused("workspace_root", root, p, err);
        if (r < 0)
                return err_set(err, CELLA_NOT_FOUND, r, "workspace_root '%.120s'", root);
        return TAKE_FD(fd);
}

int workspace_check_root(const struct workspace_policy *p, const char *root, struct cella_err *err)
{
        AUTO(sys_close) int fd = open_root(p, root, err);
        return fd < 0 ? fd : 0;
}

/* A read-only workspace is not made: the code would see an empty directory, and a mistyped name of an agent
 * would leave a directory on the host. */
static int open_host(const struct workspace_policy *p, const struct keeper_make *make, struct cella_err *err)
{
        AUTO(sys_close) int root = open_root(p, make->root, err);
        if (root < 0)
                return root;
        const uint64_t below = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
        int r = 0, fd = open_dir(root, make->name, below);
        if (fd == -ENOENT && make->workspace == KEEPER_READ_WRITE && !p->only &&
            (r = make_dir(root, make->name)) == 0)
                fd = open_dir(root, make->name, below);
        if (r < 0)
                return err_set(err, CELLA_ACCESS_DENIED, r, "cannot make workspace '%.120s/%s'", make->root,
                               make->name);
        if (fd >= 0)
                return fd;
        err_set(err, CELLA_NOT_FOUND, fd, "workspace '%.120s/%s'", make->root, make->name);
        return fd == -ENOENT ? err_hint(err, "make the directory, or use workspace 'rw', which makes it")
                             : fd;
}

int workspace_open_mount(const struct workspace_policy *p, const char *source, int *ret_fd,
                         char path[KEEPER_PATH_MAX], struct cella_err *err)
{
        struct workspace_policy beside = *p;
        beside.only = NULL; /* there is one workspace, but there may be mounts beside it */
        AUTO(sys_close) int fd = open_dir(AT_FDCWD, source, RESOLVE_NO_SYMLINKS);
        int r = fd < 0 ? fd : real_path(fd, path, KEEPER_PATH_MAX);
        if (r == -ELOOP) {
                err_say(err, CELLA_ACCESS_DENIED, r, "mount '%.120s' leads through a symbolic link", source);
                return err_hint(err, "the setting mounts must name the directory itself: realpath prints it");
        }
        if (r == 0 && !workspace_is_allowed(&beside, path))
                return refused("mount", source, p, err);
        if (r < 0)
                return err_set(err, CELLA_NOT_FOUND, r, "mount '%.120s'", source);
        *ret_fd = TAKE_FD(fd);
        return 0;
}

int workspace_open(const struct workspace_policy *p, const struct keeper_make *make, int *ret_fd,
                   char path[KEEPER_PATH_MAX + KEEPER_NAME_MAX], struct cella_err *err)
{
        bool host = make->workspace != KEEPER_PERSISTENT;
        if (make->workspace == KEEPER_SCRATCH) {
                *ret_fd = -1;
                return 0;
        }
        AUTO(sys_close) int fd = host ? open_host(p, make, err) : open_persistent(p, make->name, err);
        if (fd < 0)
                return fd;
        int r = real_path(fd, path, KEEPER_PATH_MAX + KEEPER_NAME_MAX);
        if (r < 0)
                return err_set(err, CELLA_NOT_FOUND, r, "workspace '%s'", make->name);
        if (host && !workspace_is_allowed(p, path)) /* another file system may be mounted there */
                return refused("workspace", path, p, err);
        *ret_fd = TAKE_FD(fd);
        return 0;
}
