/* jail/view.c -- the root file system as the code sees it.
 *
 * Theory of operation.  One tmpfs carries everything that is not the host's: its size
 * and inode limits are the sandbox's disk limit, all of it together.  It is attached
 * on top of "/", which needs no directory to exist anywhere, and reached through its
 * descriptor.  /tmp, /workspace, /run and /dev/shm are bound onto themselves, so that
 * the rest can become read-only by one flag on the root mount while they stay
 * writable.  /usr comes as a read-only copy of the host's mount.  Then pivot_root with
 * "." twice stacks the old root on the new one, and a lazy unmount drops it.
 *
 * What must stay true: no path below the new root is ever followed through a symlink
 * while the host is still reachable (a writable host directory mounted as workspace may
 * hold hostile ones), hence O_NOFOLLOW, one component at a time, in open_parent(). */
#include "jail/view.h"

#include <errno.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "base/auto.h"
#include "base/err.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/raw.h"
#include "wire/egress.h"

const char *const view_writable[] = {"/tmp", "/workspace", "/run", "/dev/shm", NULL};

/* What the fixed part takes, on top of what the code may use.  It takes 20 KiB; one page
 * less, so that a single large file fills the disk (ENOSPC, and the status says so) before
 * it reaches RLIMIT_FSIZE. */
#define OWN_INODES 64
#define OWN_BYTES (16 * 1024)
#define PAGE_BYTES 4096 /* a resolv.conf that says something takes one more */

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
        {"dev/fd", "/proc/self/fd"},
        {"dev/stdin", "/proc/self/fd/0"},
        {"dev/stdout", "/proc/self/fd/1"},
        {"dev/stderr", "/proc/self/fd/2"},
        {"var/tmp", "../tmp"},
        {"etc/mtab", "/proc/self/mounts"},
};

/* Links and directories of a host's root that lead to programs and libraries. */
static const char *const usr_links[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

/* Public files of the host's /etc that programs cannot do without: where Debian's
 * command names lead, which libraries there are, whom to trust. */
static const struct {
        const char *path;
        bool directory;
} etc_binds[] = {
        {"etc/alternatives", true},     {"etc/ld.so.cache", false},    {"etc/ssl/certs", true},
        {"etc/ssl/openssl.cnf", false}, {"etc/java-11-openjdk", true}, /* java's own files are links to there
                                                                        */
        {"etc/matplotlibrc", false},    {"etc/fonts", true}, /* matplotlib does not start without the first */
        {"etc/java-17-openjdk", true},  {"etc/java-21-openjdk", true}, {"etc/java-25-openjdk", true},
};

static const struct {
        const char *path, *text;
} etc_files[] = {
        {"etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"},
        {"etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"},
        {"etc/hostname", "sandbox\n"},
};

static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};

/* What /proc would tell about the host beyond what programs need. */
static const struct {
        const char *path;
        bool directory;
} masked[] = {
        {"proc/kcore", false},      {"proc/keys", false},     {"proc/timer_list", false},
        {"proc/interrupts", false}, {"proc/kallsyms", false}, {"proc/cmdline", false},
        {"proc/acpi", true},        {"proc/scsi", true},      {"proc/asound", true},
        {"proc/irq", true},         {"proc/bus", true},       {"proc/fs", true},
        {"proc/driver", true},
};

static int fail(struct cella_err *err, int r, const char *what, const char *path)
{
        return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "mount: cannot %s '%s'", what, path);
}

static int write_new(const char *path, const char *text)
{
        AUTO(sys_close) int fd = sys_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, 0644);
        if (fd < 0)
                return fd;
        return sys_write_all(fd, text, strlen(text));
}

static int write_accounts(const struct jail_spec *spec)
{
        char text[256];
        snprintf(text, sizeof text,
                 "root:x:0:0:root:/workspace:/bin/sh\n%s"
                 "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
                 spec->inner_uid == JAIL_UID ? "user:x:1000:1000:user:/workspace:/bin/sh\n" : "");
        int r = write_new("etc/passwd", text);
        if (r < 0)
                return r;
        snprintf(text, sizeof text, "root:x:0:\n%snogroup:x:65534:\n",
                 spec->inner_uid == JAIL_UID ? "user:x:1000:\n" : "");
        return write_new("etc/group", text);
}

/* Whatever name server is asked, it is the same one that answers, if there is a network at all. */
static int write_resolver(const struct jail_spec *spec)
{
        return write_new("etc/resolv.conf", spec->network ? "nameserver " EGRESS_PROXY_ADDRESS "\n" : "");
}

/* The time zone is a link into /usr on every system that has it set. */
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
                        return fail(err, r, "make the directory", directories[i].path);
        }
        for (size_t i = 0; i < ARRAY_LEN(links); i++) {
                r = sys_symlinkat(links[i].target, AT_FDCWD, links[i].path);
                if (r < 0)
                        return fail(err, r, "make the link", links[i].path);
        }
        for (size_t i = 0; i < ARRAY_LEN(etc_files); i++) {
                r = write_new(etc_files[i].path, etc_files[i].text);
                if (r < 0)
                        return fail(err, r, "write", etc_files[i].path);
        }
        r = write_accounts(spec);
        if (r < 0)
                return fail(err, r, "write", "etc/passwd");
        r = write_resolver(spec);
        if (r < 0)
                return fail(err, r, "write", "etc/resolv.conf");
        r = link_localtime();
        return r < 0 ? fail(err, r, "make the link", "etc/localtime") : 0;
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

/* A detached copy of a host tree, with its protection on, everything below it included. */
static int host_tree(const struct jail_spec *spec, const char *path, int ready, bool writable, int idmap_fd)
{
        AUTO(sys_close) int tree = ready >= 0 ? ready : sys_open_tree_clone(AT_FDCWD, path, true);
        if (tree < 0)
                return tree;
        int r = sys_mount_setattr(tree, "", protection(spec, writable), 0, true);
        if (r < 0)
                return r;
        if (idmap_fd >= 0) {
                r = sys_mount_idmap(tree, idmap_fd, true);
                /* A file system that cannot map owners: read-only, the code then sees what
                 * everybody may see.  Writing would leave a stranger's files behind. */
                if (r < 0 && writable)
                        return r;
        }
        return TAKE_FD(tree);
}

static int bind_host(const struct jail_spec *spec, const char *source, const char *target,
                     struct cella_err *err)
{
        AUTO(sys_close) int tree = host_tree(spec, source, -1, false, -1);
        int r = tree < 0 ? tree : sys_move_mount(tree, AT_FDCWD, target);
        return r < 0 ? fail(err, r, "show", source) : 0;
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
                } else if (n == -EINVAL) { /* a system from before the merge into /usr */
                        r = sys_mkdirat(AT_FDCWD, usr_links[i], 0755);
                        if (r == 0)
                                r = bind_host(spec, from, usr_links[i], err);
                } else {
                        r = (int)n;
                }
                if (r < 0)
                        return fail(err, r, "show", from);
        }
        return 0;
}

static int show_etc(const struct jail_spec *spec, struct cella_err *err)
{
        for (size_t i = 0; i < ARRAY_LEN(etc_binds); i++) {
                char from[32];
                snprintf(from, sizeof from, "/%s", etc_binds[i].path);
                AUTO(sys_close) int tree = host_tree(spec, from, -1, false, -1);
                if (tree == -ENOENT)
                        continue;
                int r = tree;
                if (tree >= 0)
                        r = etc_binds[i].directory ? sys_mkdirat(AT_FDCWD, etc_binds[i].path, 0755)
                                                   : write_new(etc_binds[i].path, "");
                if (r == -EEXIST)
                        r = 0;
                if (r >= 0)
                        r = sys_move_mount(tree, AT_FDCWD, etc_binds[i].path);
                if (r < 0)
                        return fail(err, r, "show", from);
        }
        return 0;
}

static int show_devices(struct cella_err *err)
{
        for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
                char from[16], to[16];
                snprintf(from, sizeof from, "/dev/%s", devices[i]);
                snprintf(to, sizeof to, "dev/%s", devices[i]);
                int r = write_new(to, "");
                if (r == 0)
                        r = sys_mount(from, to, NULL, MS_BIND, NULL);
                if (r < 0)
                        return fail(err, r, "show", from);
        }
        return 0;
}

/* An instance of its own: neither sees the other's terminals.  The number is that of commands, so that
 * no sandbox takes them all from the host, which counts them together. */
static int show_terminals(struct cella_err *err)
{
        int r = sys_mkdirat(AT_FDCWD, "dev/pts", 0755);
        if (r == 0)
                r = sys_mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                              "newinstance,ptmxmode=0666,mode=0620,max=256");
        if (r == 0)
                r = sys_symlinkat("pts/ptmx", AT_FDCWD, "dev/ptmx");
        return r < 0 ? fail(err, r, "mount", "/dev/pts") : 0;
}

/* By plain bind mounts: a detached mount that finds no place to go is dissolved when it is
 * closed, and the kernel waits a grace period (0.4 ms) for that. */
static int mask_proc(struct cella_err *err)
{
        /* What is bound from a read-only mount is read-only too. */
        int r = sys_mount("var/empty", "var/empty", NULL, MS_BIND, NULL);
        if (r == 0)
                r = sys_mount_setattr(AT_FDCWD, "var/empty", MOUNT_ATTR_RDONLY, 0, false);
        if (r < 0)
                return fail(err, r, "write-protect", "/var/empty");
        for (size_t i = 0; i < ARRAY_LEN(masked); i++) {
                r = sys_mount(masked[i].directory ? "var/empty" : "dev/null", masked[i].path, NULL, MS_BIND,
                              NULL);
                if (r < 0 && r != -ENOENT)
                        return fail(err, r, "mask", masked[i].path);
        }
        return 0;
}

static int show_proc(const struct jail_spec *spec, struct cella_err *err)
{
        unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
        /* hidepid: what the code may not trace, it does not see; that is init. */
        int r = sys_mount("proc", "proc", "proc", flags, spec->walls & WALL_PROC ? "hidepid=2" : NULL);
        if (r < 0) {
                fail(err, r, "mount", "/proc");
                return err_hint(err, "inside a container, /proc must not be masked: "
                                     "docker run --security-opt systempaths=unconfined");
        }
        if (!(spec->walls & WALL_PROC))
                return 0;
        if ((r = mask_proc(err)) < 0)
                return r;
        r = sys_mount_setattr(AT_FDCWD, "proc", MOUNT_ATTR_RDONLY, 0, false);
        return r < 0 ? fail(err, r, "write-protect", "/proc") : 0;
}

/* Walks down to the parent of target, making directories on the way, and says in *leaf
 * what the last component is.  Returns the parent's descriptor. */
static int open_parent(const char *target, const char **leaf)
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

static int attach(int tree, const char *target)
{
        struct statx st;
        const char *leaf = NULL;
        AUTO(sys_close) int dir = open_parent(target, &leaf);
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

static int show_mounts(const struct jail_spec *spec, struct cella_err *err)
{
        for (size_t i = 0; i < spec->n_mounts; i++) {
                const struct jail_mount *m = &spec->mounts[i];
                AUTO(sys_close) int tree = host_tree(spec, m->source, m->tree_fd, m->writable, m->idmap_fd);
                int r = tree;
                if (r < 0 && m->idmap_fd >= 0) {
                        err_set(err, CELLA_ISOLATION_UNAVAILABLE, r,
                                "mount: cannot map the owner of '%.100s'", m->source);
                        return err_hint(err, "its file system has no idmapped mounts: mount it read-only, "
                                             "or run cella as the owner");
                }
                if (r >= 0)
                        r = attach(tree, m->target);
                if (r < 0) {
                        err_set(err, CELLA_INVALID_REQUEST, r, "cannot mount '%.80s' at '%.80s'", m->source,
                                m->target);
                        return r;
                }
        }
        return 0;
}

static bool replaced(const struct jail_spec *spec, const char *directory)
{
        for (size_t i = 0; i < spec->n_mounts; i++)
                if (!strcmp(spec->mounts[i].target, directory))
                        return true;
        return false;
}

static int open_writable(const struct jail_spec *spec, struct cella_err *err)
{
        for (const char *const *d = view_writable; *d; d++) {
                if (replaced(spec, *d))
                        continue;
                int r = sys_mount(*d + 1, *d + 1, NULL, MS_BIND, NULL);
                if (r < 0)
                        return fail(err, r, "bind", *d);
        }
        return 0;
}

int view_new_root(const struct jail_spec *spec, struct cella_err *err)
{
        char size[24], inodes[24];
        snprintf(size, sizeof size, "%llu",
                 (unsigned long long)spec->limits.disk_bytes + OWN_BYTES + (spec->network ? PAGE_BYTES : 0));
        snprintf(inodes, sizeof inodes, "%llu", (unsigned long long)spec->limits.disk_inodes + OWN_INODES);
        unsigned attributes = MOUNT_ATTR_NODEV | (spec->walls & WALL_NO_NEW_PRIVS ? MOUNT_ATTR_NOSUID : 0);
        AUTO(sys_close) int root = sys_tmpfs(size, inodes, "755", attributes);
        if (root < 0)
                return fail(err, root, "make", "tmpfs");
        int r = sys_move_mount(root, AT_FDCWD, "/");
        if (r == 0)
                r = sys_fchdir(root);
        return r < 0 ? fail(err, r, "attach", "tmpfs") : 0;
}

int view_build(const struct jail_spec *spec, struct cella_err *err)
{
        /* Nothing we mount may appear on the host, nothing the host mounts here. */
        int r = sys_mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
        if (r < 0)
                return fail(err, r, "make private", "/");
        if (spec->direct)
                return view_build_host(spec, err);
        if (!(spec->walls & WALL_MOUNT))
                return 0;
        if ((r = view_new_root(spec, err)) < 0 || (r = make_skeleton(spec, err)) < 0 ||
            (r = show_usr(spec, err)) < 0 || (r = show_etc(spec, err)) < 0 || (r = show_devices(err)) < 0 ||
            (spec->terminals && (r = show_terminals(err)) < 0) || (r = show_proc(spec, err)) < 0)
                return r;
        /* Mounts last, so that one can lie in a writable directory; these before them. */
        if ((r = open_writable(spec, err)) < 0)
                return r;
        return show_mounts(spec, err);
}

int view_give(const struct jail_spec *spec, struct cella_err *err)
{
        if (spec->direct && spec->privileged) {
                int r = sys_fchownat(AT_FDCWD, "workspace", spec->host_uid, spec->host_gid);
                return r < 0 ? fail(err, r, "give away", "/workspace") : 0;
        }
        if (!spec->privileged || !(spec->walls & WALL_USER) || !(spec->walls & WALL_MOUNT))
                return 0;
        for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
                char path[32];
                snprintf(path, sizeof path, "/%s", directories[i].path);
                if (!directories[i].for_code || replaced(spec, path))
                        continue;
                int r = sys_fchownat(AT_FDCWD, directories[i].path, spec->host_uid, spec->host_gid);
                if (r < 0)
                        return fail(err, r, "give away", path);
        }
        return 0;
}

int view_enter(const struct jail_spec *spec, struct cella_err *err)
{
        if (!(spec->walls & WALL_MOUNT) && !spec->direct)
                return 0;
        int r = sys_pivot_root(".", ".");
        if (r < 0)
                return fail(err, r, "pivot to", "the new root");
        r = sys_umount(".", MNT_DETACH);
        if (r < 0)
                return fail(err, r, "unmount", "the old root");
        r = sys_mount_setattr(AT_FDCWD, "/", MOUNT_ATTR_RDONLY, 0, false);
        if (r == 0)
                r = sys_chdir("/");
        return r < 0 ? fail(err, r, "write-protect", "/") : 0;
}
