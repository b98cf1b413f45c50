#include "keeper/process/volume.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "sys/file.h"
#include "sys/mount.h"

#define LOOP_TRIES 64    /* other processes also take free devices */
#define LOCK_TRIES 50    /* of 2 ms: the kernel may still be releasing the last use */
#define TEMPLATES_MAX 16 /* bounded because users choose the sizes */
#define TEMPLATE "template-"
#define SUFFIX ".ext4"
#define SMALL_BYTES (16u << 20)
#define INODE_BYTES 256
#define OWN_INODES 16 /* inodes that ext4 reserves, plus rounding */

static const char *const makers[] = {"/usr/sbin/mke2fs", "/sbin/mke2fs"};

static const char *find_maker(void)
{
        for (size_t i = 0; i < ARRAY_LEN(makers); i++)
                if (access(makers[i], X_OK) == 0)
                        return makers[i];
        return NULL;
}

int volumes_open(int state_dir, struct cella_err *err)
{
        struct stat st;
        int r = sys_mkdirat(state_dir, "volumes", 0700);
        if (r < 0 && r != -EEXIST)
                return err_set(err, CELLA_INTERNAL, r, "cannot make the directory of volumes");
        AUTO(sys_close) int dir = sys_openat(state_dir, "volumes", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (dir < 0 || fstat(dir, &st) < 0)
                return err_set(err, CELLA_INTERNAL, dir < 0 ? dir : -errno, "cannot open the volumes");
        /* The server owns the parent directory and could have replaced this one. */
        if (st.st_uid != 0 || (st.st_mode & 0077))
                return err_say(err, CELLA_ACCESS_DENIED, -EPERM,
                               "the directory of volumes does not belong to root alone");
        AUTO(sys_close) int control = sys_openat(AT_FDCWD, "/dev/loop-control", O_RDWR, 0);
        if (control < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, -ENOTSUP, "no loop devices here");
        if (!find_maker())
                return err_say(err, CELLA_ISOLATION_UNAVAILABLE, -ENOTSUP,
                               "no mke2fs here (package e2fsprogs)");
        return TAKE_FD(dir);
}

/* ---- making a volume ---- */

/* A journal may take at most half of the file system. */
static unsigned journal_mib(const struct cella_limits *limits)
{
        return limits->disk_bytes < SMALL_BYTES ? 1 : 4;
}

/* ext4 has at most one inode per block of its smallest size. */
static uint64_t inodes_of(const struct cella_limits *limits)
{
        uint64_t most = limits->disk_bytes / 1024 + 64;
        return limits->disk_inodes < most ? limits->disk_inodes : most;
}

/* The disk limit plus the space that the file system itself needs. */
static uint64_t image_bytes(const struct cella_limits *limits)
{
        unsigned own = limits->disk_bytes < SMALL_BYTES ? 1u << 20 : 2u << 20;
        uint64_t bytes = limits->disk_bytes + limits->disk_bytes / 50 + inodes_of(limits) * INODE_BYTES +
                         ((uint64_t)journal_mib(limits) << 20) + own;
        return (bytes + 0xffff) & ~UINT64_C(0xffff);
}

static int run(const char *program, char *const argv[])
{
        static char *const env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C", NULL};
        int status;
        /* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): avoids copying the page tables */
        pid_t pid = vfork();
        if (pid == 0) {
                execve(program, argv, env);
                _exit(127);
        }
        if (pid < 0)
                return -errno;
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

/* Makes an empty file system.  This takes 30 ms, so it is made once for each size and then copied. */
static int make_template(int volumes, const char *name, const struct cella_limits *limits)
{
        char path[64], inodes[24], journal[24];
        AUTO(sys_close)
        int fd = sys_openat(volumes, "new", O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return fd;
        if (ftruncate(fd, (off_t)image_bytes(limits)) < 0)
                return -errno;
        /* Passed by descriptor: other users may be able to change the path. */
        if (fcntl(fd, F_SETFD, 0) < 0)
                return -errno;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        snprintf(inodes, sizeof inodes, "%llu", (unsigned long long)inodes_of(limits) + OWN_INODES);
        snprintf(journal, sizeof journal, "size=%u", journal_mib(limits));
        char *const argv[] = {"mke2fs",
                              "-q",
                              "-F",
                              "-t",
                              "ext4",
                              "-m",
                              "0",
                              "-N",
                              inodes,
                              "-J",
                              journal,
                              "-E",
                              "lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=0:0",
                              path,
                              NULL};
        int r = run(find_maker(), argv);
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        if (r == 0 && renameat(volumes, "new", volumes, name) < 0)
                r = -errno;
        return r;
}

/* Removes all templates when there are too many. */
static void bound_templates(int volumes)
{
        for (int pass = 0; pass < 2; pass++) {
                int fd = sys_openat(volumes, ".", O_RDONLY | O_DIRECTORY, 0), n = 0;
                DIR *d = fd < 0 ? NULL : fdopendir(fd);
                if (!d) {
                        sys_close(fd);
                        return;
                }
                for (const struct dirent *e; (e = readdir(d));) {
                        size_t len = strlen(e->d_name), end = strlen(SUFFIX);
                        if (strncmp(e->d_name, TEMPLATE, strlen(TEMPLATE)) != 0 ||
                            (len >= end &&
                             !strcmp(e->d_name + len - end, SUFFIX))) /* the volume of a workspace */
                                continue;
                        n++;
                        if (pass > 0)
                                sys_unlinkat(volumes, e->d_name, 0);
                }
                closedir(d);
                if (n < TEMPLATES_MAX)
                        return;
        }
}

static int copy_sparse(int from, int to)
{
        static char block[1 << 16];
        struct stat st;
        if (fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0)
                return -errno;
        for (off_t at = 0; (at = lseek(from, at, SEEK_DATA)) >= 0;) {
                off_t end = lseek(from, at, SEEK_HOLE);
                if (end < 0)
                        return -errno;
                while (at < end) {
                        size_t want = end - at < (off_t)sizeof block ? (size_t)(end - at) : sizeof block;
                        ssize_t n = pread(from, block, want, at);
                        if (n <= 0 || pwrite(to, block, (size_t)n, at) != n)
                                return n < 0 ? -errno : -EIO;
                        at += n;
                }
        }
        return errno == ENXIO ? 0 : -errno;
}

static int make_image(int volumes, const char *file, const struct cella_limits *limits)
{
        char name[64];
        snprintf(name, sizeof name, TEMPLATE "%llu-%llu", (unsigned long long)limits->disk_bytes,
                 (unsigned long long)inodes_of(limits));
        int from = sys_openat(volumes, name, O_RDONLY | O_NOFOLLOW, 0), r;
        if (from == -ENOENT) {
                bound_templates(volumes);
                if ((r = make_template(volumes, name, limits)) < 0) {
                        sys_unlinkat(volumes, "new", 0);
                        return r;
                }
        }
        if (from == -ENOENT)
                from = sys_openat(volumes, name, O_RDONLY | O_NOFOLLOW, 0);
        if (from < 0)
                return from;
        int to = sys_openat(volumes, "new", O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
        r = to < 0 ? to : copy_sparse(from, to);
        sys_close(from);
        if (r == 0 && renameat(volumes, "new", volumes, file) < 0)
                r = -errno;
        if (r < 0)
                sys_unlinkat(volumes, "new", 0); /* frees the space when the disk is full */
        if (to >= 0)
                sys_close(to);
        return r;
}

/* ---- mounting a volume ---- */

/* Attaches a free loop device to the image.  Returns its descriptor.  The device exists while the descriptor
 * or a mount does. */
static int attach(int image, char path[32])
{
        AUTO(sys_close) int control = sys_openat(AT_FDCWD, "/dev/loop-control", O_RDWR, 0);
        if (control < 0)
                return control;
        for (int i = 0; i < LOOP_TRIES; i++) {
                const struct loop_config config = {.fd = (unsigned)image,
                                                   .info.lo_flags = LO_FLAGS_AUTOCLEAR};
                int number = ioctl(control, LOOP_CTL_GET_FREE);
                if (number < 0)
                        return -errno;
                snprintf(path, 32, "/dev/loop%d", number);
                int device = sys_openat(AT_FDCWD, path, O_RDWR, 0);
                if (device < 0)
                        return device;
                if (ioctl(device, LOOP_CONFIGURE, &config) == 0)
                        return device;
                int r = -errno;
                sys_close(device);
                if (r != -EBUSY) /* EBUSY: another process took it first */
                        return r;
        }
        return -EBUSY;
}

/* Opens the file of the volume; makes it if it does not exist. */
static int open_image(int volumes, const char *name, const struct cella_limits *limits, struct cella_err *err)
{
        char file[128];
        struct stat st;
        snprintf(file, sizeof file, "%s" SUFFIX, name);
        AUTO(sys_close) int image = sys_openat(volumes, file, O_RDWR | O_NOFOLLOW, 0);
        if (image == -ENOENT) {
                int r = make_image(volumes, file, limits);
                if (r < 0)
                        return err_set(err, CELLA_INTERNAL, r, "cannot make the volume of workspace '%s'",
                                       name);
                image = sys_openat(volumes, file, O_RDWR | O_NOFOLLOW, 0);
        }
        if (image < 0 || fstat(image, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != 0)
                return err_set(err, CELLA_INTERNAL, image < 0 ? image : -EPERM, "volume of workspace '%s'",
                               name);
        return TAKE_FD(image);
}

/* Locks the image.  Mounting a file system twice destroys it, for example for a second sandbox with the same
 * workspace.  The loop device holds our open file, and with it the lock, until it is detached. */
static int take(int image)
{
        int r = -EWOULDBLOCK;
        for (int i = 0; i < LOCK_TRIES && r == -EWOULDBLOCK; i++) {
                if (i > 0)
                        usleep(2000);
                r = sys_flock(image, LOCK_EX | LOCK_NB);
        }
        return r;
}

int volume_mount(int volumes, const char *name, const struct cella_limits *limits, struct cella_err *err)
{
        char path[32];
        AUTO(sys_close) int image = open_image(volumes, name, limits, err);
        if (image < 0)
                return image;
        int r = take(image);
        if (r < 0)
                return err_set(err, r == -EWOULDBLOCK ? CELLA_OVER_CAPACITY : CELLA_INTERNAL, -EBUSY,
                               "the volume of workspace '%s' is in use", name);
        AUTO(sys_close) int device = attach(image, path);
        if (device < 0) {
                err_set(err, CELLA_ISOLATION_UNAVAILABLE, device,
                        "cannot get a loop device for workspace '%s'", name);
                return err_hint(err, "a sandbox that is created with \"persistent\": false needs none");
        }
        int mount = sys_mount_device("ext4", path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOATIME);
        if (mount < 0)
                return err_set(err, CELLA_INTERNAL, mount, "cannot mount the volume of workspace '%s'", name);
        sys_unlinkat(mount, "lost+found", AT_REMOVEDIR); /* not needed */
        return mount;
}

int volume_remove(int volumes, const char *name)
{
        char file[128];
        snprintf(file, sizeof file, "%s" SUFFIX, name);
        int r = sys_unlinkat(volumes, file, 0);
        return r == -ENOENT ? 0 : r;
}
