/* jail/view.c -- the root file system that the code sees: a view of the host.
 *
 * Theory of operation.  One tmpfs holds everything that does not come from the host; its size and inode
 * limits are the sandbox's disk limit.  It is mounted on top of "/", which needs no existing directory, and
 * accessed through its descriptor.  /tmp, /workspace, /run and /dev/shm are bind-mounted onto themselves, so
 * that one flag on the root mount makes the rest read-only while they stay writable.  /usr is a read-only
 * copy of the host's mount.  Then pivot_root(".", ".") stacks the old root on the new one, and a lazy unmount
 * removes it.
 *
 * Invariant: while the host is still reachable, no path below the new root is followed through a symbolic
 * link (a writable host directory mounted as workspace may contain hostile ones).  Therefore view_parts.c
 * uses O_NOFOLLOW, one component at a time. */
#include "jail/view.h"

#include <errno.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/err.h"
#include "jail/view_parts.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/raw.h"

#define OWN_FILES 5 /* in etc */
#define COPY_MAX (256u << 10)

static const struct {
        const char *path;
        unsigned mode;
        bool for_code; /* belongs to the code's uid */
} directories[] = {
        {"usr", 0755, false},
        {"etc", 0755, false},
        {"etc/ssl", 0755, false},
        {"etc/ssl/certs", 0755, false},
        {"etc/alternatives", 0755, false},
        {"proc", 0555, false},
        {"dev", 0755, false},
        {"dev/shm", 01777, false},
        {"tmp", 01777, false},
        {"run", 0700, true},
        {"workspace", 0755, true},
        {"var", 0755, false},
        {"var/empty", 0555, false},
};

static const struct {
        const char *path, *target;
} links[] = {
        {"var/tmp", "../tmp"},
        {"etc/mtab", "/proc/self/mounts"},
};

/* Links and directories in the host's root that lead to programs and libraries. */
static const char *const usr_links[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

/* Public files of the host's /etc that programs need: targets of Debian's command names, the library cache,
 * trusted certificates, names of services and protocols. */
static const struct {
        const char *path;
        bool directory;
} etc_binds[] = {
        {"etc/alternatives", true},     {"etc/ld.so.cache", false},    {"etc/ssl/certs", true},
        {"etc/ssl/openssl.cnf", false}, {"etc/java-11-openjdk", true}, /* java's own files link to there */
        {"etc/matplotlibrc", false},    {"etc/fonts", true}, /* matplotlib does not start without its file */
        {"etc/services", false},        {"etc/protocols", false}, /* for getservbyname() */
        {"etc/java-17-openjdk", true},  {"etc/java-21-openjdk", true}, {"etc/java-25-openjdk", true},
};

static const struct {
        const char *path, *text;
} etc_files[] = {
        {"etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"},
        {"etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"},
        {"etc/hostname", "sandbox\n"},
};

static int write_accounts(const struct jail_spec *spec)
{
        char text[256];
        snprintf(text, sizeof text,
                 "root:x:0:0:root:/workspace:/bin/sh\n%s"
                 "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
                 spec->inner_uid == JAIL_UID ? "user:x:1000:1000:user:/workspace:/bin/sh\n" : "");
        int r = view_write_new("etc/passwd", text);
        if (r < 0)
                return r;
        snprintf(text, sizeof text, "root:x:0:\n%snogroup:x:65534:\n",
                 spec->inner_uid == JAIL_UID ? "user:x:1000:\n" : "");
        return view_write_new("etc/group", text);
}

/* /etc/localtime is a link into /usr on every system that sets it. */
static int link_localtime(void)
{
        char target[128];
        long n = sys_call4(SYS_readlinkat, AT_FDCWD, "/etc/localtime", target, sizeof target - 1);
        if (n < 0)
                return 0;
        target[n] = '\0';
        const char *zone = strstr(target, "/usr/share/zoneinfo/");
        return zone ? sys_symlinkat(zone, AT_FDCWD, "etc/localtime") : 0;
}

static int make_skeleton(const struct jail_spec *spec, struct cella_err *err)
{
        int r;
        for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
                r = sys_mkdirat(AT_FDCWD, directories[i].path, directories[i].mode);
                if (r < 0)
                        return view_fail(err, r, "make the directory", directories[i].path);
        }
        for (size_t i = 0; i < ARRAY_LEN(links); i++) {
                r = sys_symlinkat(links[i].target, AT_FDCWD, links[i].path);
                if (r < 0)
                        return view_fail(err, r, "make the link", links[i].path);
        }
        for (size_t i = 0; i < ARRAY_LEN(etc_files); i++) {
                r = view_write_new(etc_files[i].path, etc_files[i].text);
                if (r < 0)
                        return view_fail(err, r, "write", etc_files[i].path);
        }
        r = write_accounts(spec);
        if (r < 0)
                return view_fail(err, r, "write", "etc/passwd");
        r = view_write_resolver(spec, "etc/resolv.conf");
        if (r < 0)
                return view_fail(err, r, "write", "etc/resolv.conf");
        r = link_localtime();
        return r < 0 ? view_fail(err, r, "make the link", "etc/localtime") : 0;
}

static int bind_host(const struct jail_spec *spec, const char *source, const char *target,
                     struct cella_err *err)
{
        AUTO(sys_close) int tree = view_host_tree(spec, source, -1, false, -1);
        int r = tree < 0 ? tree : sys_move_mount(tree, AT_FDCWD, target);
        return r < 0 ? view_fail(err, r, "show", source) : 0;
}

static int show_usr(const struct jail_spec *spec, struct cella_err *err)
{
        int r = bind_host(spec, "/usr", "usr", err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ARRAY_LEN(usr_links); i++) {
                char from[16], target[64];
                snprintf(from, sizeof from, "/%s", usr_links[i]);
                long n = sys_call4(SYS_readlinkat, AT_FDCWD, from, target, sizeof target - 1);
                if (n == -ENOENT)
                        continue;
                if (n >= 0) {
                        target[n] = '\0';
                        r = sys_symlinkat(target, AT_FDCWD, usr_links[i]);
                } else if (n == -EINVAL) { /* a system without merged /usr */
                        r = sys_mkdirat(AT_FDCWD, usr_links[i], 0755);
                        if (r == 0)
                                r = bind_host(spec, from, usr_links[i], err);
                } else {
                        r = (int)n;
                }
                if (r < 0)
                        return view_fail(err, r, "show", from);
        }
        return 0;
}

/* Copies a small file instead of mounting it, because each copy of this view copies every mount. */
static bool copy_small(const char *from, const char *to)
{
        struct statx st;
        AUTO(sys_close) int file = sys_openat(AT_FDCWD, from, O_RDONLY | O_NONBLOCK, 0);
        if (file < 0 || sys_statx(file, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MODE | STATX_SIZE, &st) < 0 ||
            !S_ISREG(st.stx_mode) || st.stx_size > COPY_MAX)
                return false;
        if (!(st.stx_mode & S_IROTH)) /* not readable for everyone */
                return false;
        AUTO(sys_close) int copy = sys_openat(AT_FDCWD, to, O_WRONLY | O_CREAT | O_EXCL, 0644);
        if (copy < 0)
                return false;
        if (sys_call4(SYS_sendfile, copy, file, NULL, COPY_MAX) == (long)st.stx_size)
                return true;
        sys_call3(SYS_unlinkat, AT_FDCWD, to, 0);
        return false;
}

static int show_etc(const struct jail_spec *spec, struct cella_err *err)
{
        for (size_t i = 0; i < ARRAY_LEN(etc_binds); i++) {
                char from[32];
                snprintf(from, sizeof from, "/%s", etc_binds[i].path);
                if (spec->view == JAIL_VIEW_LEAVES && !etc_binds[i].directory &&
                    copy_small(from, etc_binds[i].path))
                        continue;
                AUTO(sys_close) int tree = view_host_tree(spec, from, -1, false, -1);
                if (tree == -ENOENT)
                        continue;
                int r = tree;
                if (tree >= 0)
                        r = etc_binds[i].directory ? sys_mkdirat(AT_FDCWD, etc_binds[i].path, 0755)
                                                   : view_write_new(etc_binds[i].path, "");
                if (r == -EEXIST)
                        r = 0;
                if (r >= 0)
                        r = sys_move_mount(tree, AT_FDCWD, etc_binds[i].path);
                if (r < 0)
                        return view_fail(err, r, "show", from);
        }
        return 0;
}

static int open_writable(const struct jail_spec *spec, struct cella_err *err)
{
        for (const char *const *d = view_writable; *d; d++) {
                if (view_replaced(spec, *d))
                        continue;
                int r = sys_mount(*d + 1, *d + 1, NULL, MS_BIND, NULL);
                if (r < 0)
                        return view_fail(err, r, "bind", *d);
        }
        return 0;
}

int view_build_fixed(const struct jail_spec *spec, struct cella_err *err)
{
        int r;
        if ((r = view_new_root(spec, "/", OWN_FILES, err)) < 0 || (r = make_skeleton(spec, err)) < 0 ||
            (r = show_usr(spec, err)) < 0 || (r = show_etc(spec, err)) < 0)
                return r;
        r = view_show_devices(spec, err);
        return r < 0 ? r : view_make_settings(spec, err);
}

int view_build(struct jail_spec *spec, struct cella_err *err)
{
        int r;
        if (spec->view == JAIL_VIEW_TAKES && (r = view_take(spec, err)) <= 0)
                return r;
        /* Prevents mounts from propagating to the host or from it. */
        r = sys_mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
        if (r < 0)
                return view_fail(err, r, "make private", "/");
        if (spec->view == JAIL_VIEW_LEAVES)
                return view_leave(spec, err);
        if (spec->direct)
                return view_build_host(spec, err);
        if (!(spec->walls & WALL_MOUNT))
                return 0;
        if (spec->image)
                return view_build_image(spec, err);
        if ((r = view_build_fixed(spec, err)) < 0 || (r = view_show_terminals(err)) < 0 ||
            (r = view_show_proc(spec, err)) < 0)
                return r;
        /* Mounts are last, so that they can be inside a writable directory. */
        if ((r = open_writable(spec, err)) < 0)
                return r;
        return view_show_mounts(spec, err);
}

int view_give(const struct jail_spec *spec, struct cella_err *err)
{
        if (spec->direct && spec->privileged) {
                int r = sys_fchownat(AT_FDCWD, "workspace", spec->host_uid, spec->host_gid);
                return r < 0 ? view_fail(err, r, "change the owner of", "/workspace") : 0;
        }
        if (spec->image && (spec->walls & WALL_MOUNT))
                return view_give_image(spec, err);
        if (!spec->privileged || !(spec->walls & WALL_USER) || !(spec->walls & WALL_MOUNT))
                return 0;
        if (spec->view != JAIL_VIEW_OWN)
                return view_give_disk(spec, err);
        for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
                char path[32];
                snprintf(path, sizeof path, "/%s", directories[i].path);
                if (!directories[i].for_code || view_replaced(spec, path))
                        continue;
                int r = sys_fchownat(AT_FDCWD, directories[i].path, spec->host_uid, spec->host_gid);
                if (r < 0)
                        return view_fail(err, r, "change the owner of", path);
        }
        return 0;
}

int view_enter(const struct jail_spec *spec, struct cella_err *err)
{
        if ((!(spec->walls & WALL_MOUNT) && !spec->direct) || spec->view != JAIL_VIEW_OWN)
                return 0; /* no view, or already entered */
        return view_pivot(spec, err);
}

int view_pivot(const struct jail_spec *spec, struct cella_err *err)
{
        int r = sys_pivot_root(".", ".");
        if (r < 0)
                return view_fail(err, r, "pivot to", "the new root");
        r = sys_umount(".", MNT_DETACH);
        if (r < 0)
                return view_fail(err, r, "unmount", "the old root");
        /* An image stays writable: changes go to its own layer. */
        r = spec->image ? 0 : sys_mount_setattr(AT_FDCWD, "/", MOUNT_ATTR_RDONLY, 0, false);
        if (r == 0)
                r = sys_chdir("/");
        return r < 0 ? view_fail(err, r, "write-protect", "/") : 0;
}
