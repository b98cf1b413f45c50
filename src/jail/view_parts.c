#include "jail/view_parts.h"

#include <errno.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/auto.h"
#include "base/err.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/raw.h"
#include "wire/egress.h"

#define OWN_INODES 64
#define PAGE_BYTES 4096

static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};

static const struct {
        const char *path, *target;
} device_links[] = {
        {"dev/ptmx", "pts/ptmx"},          {"dev/fd", "/proc/self/fd"},
        {"dev/stdin", "/proc/self/fd/0"},  {"dev/stdout", "/proc/self/fd/1"},
        {"dev/stderr", "/proc/self/fd/2"},
};

int view_fail(struct cella_err *err, int r, const char *what, const char *path)
{
        return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "mount: cannot %s '%s'", what, path);
}

int view_write_new(const char *path, const char *text)
{
        AUTO(sys_close) int fd = sys_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, 0644);
        if (fd < 0)
                return fd;
        return sys_write_all(fd, text, strlen(text));
}

int view_write_resolver(const struct jail_spec *spec, const char *path)
{
        return view_write_new(path, spec->network ? "nameserver " EGRESS_PROXY_ADDRESS "\n" : "");
}

static uint64_t protection(const struct jail_spec *spec, bool writable)
{
        uint64_t set = MOUNT_ATTR_NODEV;
        if (!writable)
                set |= MOUNT_ATTR_RDONLY;
        if (spec->walls & WALL_NO_NEW_PRIVS)
                set |= MOUNT_ATTR_NOSUID;
        return set;
}

int view_host_tree(const struct jail_spec *spec, const char *path, int ready, bool writable, int idmap_fd)
{
        AUTO(sys_close) int tree = ready >= 0 ? ready : sys_open_tree_clone(AT_FDCWD, path, true);
        if (tree < 0)
                return tree;
        int r = sys_mount_setattr(tree, "", protection(spec, writable), 0, true);
        if (r < 0)
                return r;
        if (idmap_fd >= 0) {
                r = sys_mount_idmap(tree, idmap_fd, true);
                /* A file system without idmapped mounts: read-only, the code sees what is readable for all.
                 * Writing would leave files with a foreign owner. */
                if (r < 0 && writable)
                        return r;
        }
        return TAKE_FD(tree);
}

/* Bind-mounts the host's device nodes one by one. */
static int bind_devices(struct cella_err *err)
{
        for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
                char from[16], to[16];
                snprintf(from, sizeof from, "/dev/%s", devices[i]);
                snprintf(to, sizeof to, "dev/%s", devices[i]);
                int r = view_write_new(to, "");
                if (r == 0)
                        r = sys_mount(from, to, NULL, MS_BIND, NULL);
                if (r < 0)
                        return view_fail(err, r, "show", from);
        }
        return 0;
}

/* Makes own nodes for the same devices in one mount, because each copy of the view copies every mount.
 * dev/shm will be mounted over. */
static int make_devices(void)
{
        AUTO(sys_close) int dev = sys_tmpfs("64k", "32", "755", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
        int r = dev < 0 ? dev : sys_mkdirat(dev, "shm", 01777);
        for (size_t i = 0; i < ARRAY_LEN(devices) && r == 0; i++) {
                struct statx st;
                char from[16];
                snprintf(from, sizeof from, "/dev/%s", devices[i]);
                r = sys_statx(AT_FDCWD, from, 0, STATX_TYPE, &st);
                if (r == 0 && !S_ISCHR(st.stx_mode))
                        r = -ENODEV;
                if (r == 0)
                        r = sys_mknodat(dev, devices[i], S_IFCHR | 0666,
                                        makedev(st.stx_rdev_major, st.stx_rdev_minor));
        }
        return r < 0 ? r : sys_move_mount(dev, AT_FDCWD, "dev");
}

int view_show_devices(const struct jail_spec *spec, struct cella_err *err)
{
        /* Making nodes may not be permitted. */
        const bool ours = spec->view == JAIL_VIEW_LEAVES && make_devices() == 0;
        int r = ours ? 0 : bind_devices(err);
        if (r < 0)
                return r;
        r = sys_mkdirat(AT_FDCWD, "dev/pts", 0755);
        if (r < 0)
                return view_fail(err, r, "make the directory", "dev/pts");
        for (size_t i = 0; i < ARRAY_LEN(device_links); i++) {
                r = sys_symlinkat(device_links[i].target, AT_FDCWD, device_links[i].path);
                if (r < 0)
                        return view_fail(err, r, "make the link", device_links[i].path);
        }
        r = ours ? sys_mount_setattr(AT_FDCWD, "dev", MOUNT_ATTR_RDONLY, 0, false) : 0;
        return r < 0 ? view_fail(err, r, "write-protect", "/dev") : 0;
}

/* The maximum bounds the memory of the kernel that no cgroup counts (about 40 KB for each terminal), and
 * leaves terminals for others: the kernel counts all instances together (kernel.pty.max, 4096, of which 1024
 * are reserved for the initial mount namespace). */
int view_show_terminals(struct cella_err *err)
{
        int r = sys_mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                          "newinstance,ptmxmode=0666,mode=0620,max=64");
        return r < 0 ? view_fail(err, r, "mount", "/dev/pts") : 0;
}

/* Opens the parent directory of target and makes missing directories.  Sets *leaf to the last component.
 * Returns the descriptor of the parent or -errno. */
static int view_parts_open_parent(const char *target, const char **leaf)
{
        char component[256];
        AUTO(sys_close) int dir = sys_openat(AT_FDCWD, ".", O_PATH | O_DIRECTORY, 0);
        const char *p = target + 1;
        for (;;) {
                size_t len = strcspn(p, "/");
                if (dir < 0 || p[len] == '\0') {
                        *leaf = p;
                        return TAKE_FD(dir);
                }
                if (len >= sizeof component)
                        return -ENAMETOOLONG;
                memcpy(component, p, len);
                component[len] = '\0';
                int r = sys_mkdirat(dir, component, 0755);
                if (r < 0 && r != -EEXIST && r != -EROFS)
                        return r;
                int next = sys_openat(dir, component, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
                sys_close(dir);
                dir = next;
                p += len + 1;
        }
}

static int view_parts_attach(int tree, const char *target)
{
        struct statx st;
        const char *leaf = NULL;
        AUTO(sys_close) int dir = view_parts_open_parent(target, &leaf);
        if (dir < 0)
                return dir;
        int r = sys_statx(tree, "", AT_EMPTY_PATH, STATX_TYPE, &st);
        if (r < 0)
                return r;
        if (S_ISDIR(st.stx_mode)) {
                r = sys_mkdirat(dir, leaf, 0755);
        } else {
                r = sys_openat(dir, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
                if (r >= 0)
                        r = sys_close(r);
        }
        if (r < 0 && r != -EEXIST)
                return r;
        return sys_move_mount(tree, dir, leaf);
}

int view_show_mounts(const struct jail_spec *spec, struct cella_err *err)
{
        for (size_t i = 0; i < spec->n_mounts; i++) {
                const struct jail_mount *m = &spec->mounts[i];
                AUTO(sys_close)
                int tree = view_host_tree(spec, m->source, m->tree_fd, m->writable, m->idmap_fd);
                int r = tree;
                if (r < 0 && m->idmap_fd >= 0) {
                        err_set(err, CELLA_ISOLATION_UNAVAILABLE, r,
                                "mount: cannot map the owner of '%.100s'", m->source);
                        return err_hint(err, "its file system has no idmapped mounts: mount it read-only, "
                                             "or run cella as the owner");
                }
                if (r >= 0)
                        r = view_parts_attach(tree, m->target);
                if (r < 0) {
                        err_set(err, CELLA_INVALID_REQUEST, r, "cannot mount '%.80s' at '%.80s'", m->source,
                                m->target);
                        return r;
                }
        }
        return 0;
}

bool view_replaced(const struct jail_spec *spec, const char *directory)
{
        for (size_t i = 0; i < spec->n_mounts; i++)
                if (!strcmp(spec->mounts[i].target, directory))
                        return true;
        return false;
}

int view_new_disk(const struct jail_spec *spec, int64_t own_bytes, unsigned own_inodes, struct cella_err *err)
{
        char size[24], inodes[24];
        snprintf(size, sizeof size, "%lld", (long long)spec->limits.disk_bytes + own_bytes);
        snprintf(inodes, sizeof inodes, "%llu", (unsigned long long)spec->limits.disk_inodes + own_inodes);
        unsigned attributes = MOUNT_ATTR_NODEV | (spec->walls & WALL_NO_NEW_PRIVS ? MOUNT_ATTR_NOSUID : 0);
        int disk = sys_tmpfs(size, inodes, "755", attributes);
        return disk < 0 ? view_fail(err, disk, "make", "tmpfs") : disk;
}

int view_new_root(const struct jail_spec *spec, const char *on, unsigned files, struct cella_err *err)
{
        /* One page less than the size of our files, so that a single large file fills the disk (ENOSPC, which
         * is reported) before it reaches RLIMIT_FSIZE.  A non-empty resolv.conf needs one page more. */
        int64_t own = (int64_t)(files - 1 + (spec->network ? 1 : 0)) * PAGE_BYTES;
        AUTO(sys_close) int root = view_new_disk(spec, own, OWN_INODES, err);
        if (root < 0)
                return root;
        int r = sys_move_mount(root, AT_FDCWD, on);
        if (r == 0)
                r = sys_fchdir(root);
        return r < 0 ? view_fail(err, r, "attach", "tmpfs") : 0;
}
