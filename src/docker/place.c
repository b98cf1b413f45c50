#include "docker/place.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "sys/file.h"
#include "wire/egress.h"

/* Put in when we are built. */
extern const char init_program[];
extern const uint64_t init_program_len;

/* As mkdir -p; what is made is ours alone. */
static int make_all(const char *path)
{
        char part[512];
        size_t len = strlen(path);
        if (path[0] != '/' || len >= sizeof part)
                return -EINVAL;
        for (size_t i = 1; i <= len; i++) {
                if (path[i] != '/' && path[i] != '\0')
                        continue;
                memcpy(part, path, i);
                part[i] = '\0';
                if (mkdir(part, 0700) < 0 && errno != EEXIST)
                        return -errno;
        }
        return 0;
}

static int write_init(int dir)
{
        AUTO(sys_close) int fd = sys_openat(dir, "init", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0555);
        int r = fd < 0 ? fd : sys_write_all(fd, init_program, init_program_len);
        return r < 0 ? r : fchmod(fd, 0555) < 0 ? -errno : 0; /* whatever the umask said */
}

/* For those that have a way out. */
static int write_resolver(int dir)
{
        static const char text[] = "nameserver " EGRESS_PROXY_ADDRESS "\n";
        AUTO(sys_close)
        int fd = sys_openat(dir, PLACE_RESOLVER, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0444);
        int r = fd < 0 ? fd : sys_write_all(fd, text, sizeof text - 1);
        return r < 0 ? r : fchmod(fd, 0444) < 0 ? -errno : 0;
}

static int check_home(const char *home, struct cella_err *err)
{
        struct statvfs fs;
        struct stat st;
        if (statvfs(home, &fs) < 0 || lstat(home, &st) < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "%.150s", home);
        if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
                return err_say(err, CELLA_INTERNAL, -EPERM, "%.150s is not a directory of ours alone", home);
        if (!(fs.f_flag & ST_NOEXEC))
                return 0;
        err_say(err, CELLA_ENGINE_UNAVAILABLE, -EACCES, "nothing can be executed in %.150s", home);
        return err_hint(err, "it is on a file system mounted noexec: choose another state directory");
}

/* It gets its name when it is locked: nobody takes it for a dead one's meanwhile. */
static int make_own(struct place *p, int home)
{
        char name[ID_SIZE + 1];
        int r = id_make("dkr_", p->owner);
        if (r < 0)
                return r;
        snprintf(name, sizeof name, ".%s", p->owner);
        if ((r = sys_mkdirat(home, name, 0700)) < 0)
                return r;
        r = p->dir = sys_openat(home, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (r >= 0)
                r = p->lock = sys_openat(p->dir, "lock", O_RDWR | O_CREAT | O_EXCL, 0600);
        if (r >= 0)
                r = sys_flock(p->lock, LOCK_EX | LOCK_NB);
        if (r >= 0)
                r = write_init(p->dir);
        if (r >= 0)
                r = write_resolver(p->dir);
        return r < 0 ? r : renameat(home, name, home, p->owner) < 0 ? -errno : 0;
}

int place_open(const char *home, struct place *ret, struct cella_err *err)
{
        *ret = (struct place){.home = home, .dir = -1, .lock = -1};
        int r = make_all(home);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot make %.150s", home);
        if ((r = check_home(home, err)) < 0)
                return r;
        AUTO(sys_close) int dir = sys_openat(AT_FDCWD, home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        r = dir < 0 ? dir : make_own(ret, dir);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot make a directory in %.150s", home) : 0;
}

/* What one of them can have in it; dir is HOME/OWNER. */
static void remove_content(int dir)
{
        AUTO(sys_close) int copy = sys_openat(dir, ".", O_RDONLY | O_DIRECTORY, 0);
        DIR *list = copy < 0 ? NULL : fdopendir(copy);
        if (!list)
                return;
        (void)TAKE_FD(copy); /* the list's now */
        for (struct dirent *e; (e = readdir(list));) {
                if (e->d_name[0] == '.')
                        continue;
                AUTO(sys_close)
                int below = sys_openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
                if (below >= 0) {
                        sys_unlinkat(below, "s", 0);
                        sys_unlinkat(below, "init", 0);
                }
                sys_unlinkat(dir, e->d_name, below >= 0 ? AT_REMOVEDIR : 0);
        }
        closedir(list);
}

void place_close(struct place *p)
{
        AUTO(sys_close) int home = sys_openat(AT_FDCWD, p->home, O_RDONLY | O_DIRECTORY, 0);
        if (p->dir >= 0)
                remove_content(p->dir);
        if (home >= 0 && p->owner[0])
                sys_unlinkat(home, p->owner, AT_REMOVEDIR);
        sys_close(TAKE_FD(p->dir));
        sys_close(TAKE_FD(p->lock));
}

int place_path(const struct place *p, const char *id, char *ret, size_t size)
{
        return snprintf(ret, size, "%s/%s/%s", p->home, p->owner, id) < (int)size ? 0 : -ENAMETOOLONG;
}

/* By way of the descriptor: the path can be longer than an address has room for. */
static int bind_in(int socket_fd, int dir)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/s", dir);
        if (bind(socket_fd, (struct sockaddr *)&address, sizeof address) < 0)
                return -errno;
        /* Whoever the code is in there; out here nobody gets to it through HOME. */
        if (fchmodat(dir, "s", 0666, 0) < 0 || listen(socket_fd, 1) < 0)
                return -errno;
        return 0;
}

int place_make(const struct place *p, const char *id, struct cella_err *err)
{
        int r = sys_mkdirat(p->dir, id, 0755);
        AUTO(sys_close) int dir = r < 0 ? r : sys_openat(p->dir, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        r = dir < 0 ? dir : fchmod(dir, 0755) < 0 || linkat(p->dir, "init", dir, "init", 0) < 0 ? -errno : 0;
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot make a directory for the sandbox") : 0;
}

int place_listen(const struct place *p, const char *id, struct cella_err *err)
{
        AUTO(sys_close) int dir = sys_openat(p->dir, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        AUTO(sys_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int r = dir < 0 ? dir : fd < 0 ? -errno : bind_in(fd, dir);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot make a socket for the sandbox");
        return TAKE_FD(fd);
}

void place_empty(const struct place *p, const char *id)
{
        AUTO(sys_close) int dir = sys_openat(p->dir, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (dir < 0)
                return;
        sys_unlinkat(dir, "s", 0);
        sys_unlinkat(dir, "init", 0);
}

void place_remove(const struct place *p, const char *id)
{
        place_empty(p, id);
        sys_unlinkat(p->dir, id, AT_REMOVEDIR);
}

/* A single component, and one of ours. */
static bool is_owner(const char *name)
{
        static const char good[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
        return !strncmp(name, "dkr_", 4) && strlen(name) < ID_SIZE && name[strspn(name, good)] == '\0';
}

static bool lives(int home, const char *owner)
{
        char path[ID_SIZE + 8];
        snprintf(path, sizeof path, "%s/lock", owner);
        AUTO(sys_close) int lock = sys_openat(home, path, O_RDWR | O_NOFOLLOW, 0);
        return lock >= 0 && sys_flock(lock, LOCK_EX | LOCK_NB) < 0;
}

bool place_owner_lives(const char *home, const char *owner)
{
        AUTO(sys_close) int dir = sys_openat(AT_FDCWD, home, O_RDONLY | O_DIRECTORY, 0);
        return is_owner(owner) && dir >= 0 && lives(dir, owner);
}

void place_sweep(const struct place *p)
{
        DIR *list = opendir(p->home);
        if (!list)
                return;
        for (struct dirent *e; (e = readdir(list));) {
                if (!is_owner(e->d_name) || !strcmp(e->d_name, p->owner) || lives(dirfd(list), e->d_name))
                        continue;
                AUTO(sys_close)
                int dir = sys_openat(dirfd(list), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
                if (dir < 0)
                        continue;
                remove_content(dir);
                sys_unlinkat(dirfd(list), e->d_name, AT_REMOVEDIR);
        }
        closedir(list);
}
