#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/clock.h"
#include "jail/view_again.h"
#include "jail/walls.h"
#include "keeper/views.h"
#include "test.h"

static const struct jail_spec spec = {
        .walls = WALL_MOUNT | WALL_NO_NEW_PRIVS,
        .privileged = true,
        .host_uid = 1234567,
        .host_gid = 1234567,
        .limits = {.disk_bytes = 1 << 20, .disk_inodes = 100},
        .view_fd = -1,
        .ruleset_fd = -1,
        .proc_fd = -1,
        .netns_fd = -1,
        .user_fd = -1,
        .census_fd = -1,
        .listener_fd = -1,
};

/* In a child: a root with the directories that a view has, and a word when it is there. */
static void be_fixed(const char *root, int told)
{
        static const char *const directories[] = {"dev", "dev/shm", "tmp", "workspace", "run", "proc"};
        bool good = unshare(CLONE_NEWNS) == 0 && mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
                    mount("none", root, "tmpfs", 0, NULL) == 0 && chdir(root) == 0;
        for (size_t i = 0; i < ARRAY_LEN(directories); i++)
                good = good && mkdir(directories[i], 0755) == 0;
        good = good && syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0;
        if (write(told, good ? "y" : "n", 1) == 1)
                pause();
        _exit(0);
}

/* Its mount namespace, or -1. */
static int make_fixed(void)
{
        char root[] = "/tmp/cella-used-view-XXXXXX", path[64], word = 'n';
        int told[2], fixed = -1;
        if (!mkdtemp(root) || pipe2(told, O_CLOEXEC) < 0)
                return -1;
        pid_t child = fork();
        if (child == 0)
                be_fixed(root, told[1]);
        close(told[1]);
        if (child > 0 && read(told[0], &word, 1) == 1 && word == 'y') {
                snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)child);
                fixed = open(path, O_RDONLY | O_CLOEXEC);
        }
        close(told[0]);
        if (child > 0) {
                kill(child, SIGKILL);
                waitpid(child, NULL, 0);
        }
        rmdir(root);
        return fixed;
}

static int make_file(const struct view_kept *view)
{
        int fd = openat(view->directories[0], "left", O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        return fd < 0 ? -1 : close(fd);
}

static int make_and_remove(const struct view_kept *view)
{
        return make_file(view) < 0 ? -1 : unlinkat(view->directories[0], "left", 0);
}

static int make_and_put_time_back(const struct view_kept *view)
{
        struct stat st;
        if (fstat(view->directories[3], &st) < 0 || mkdirat(view->directories[3], "left", 0700) < 0 ||
            unlinkat(view->directories[3], "left", AT_REMOVEDIR) < 0)
                return -1;
        return futimens(view->directories[3], (struct timespec[]){st.st_atim, st.st_mtim});
}

static int make_without_name(const struct view_kept *view)
{
        int fd = openat(view->directories[2], ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        return fd < 0 ? -1 : close(fd);
}

static int chmod_to_the_same(const struct view_kept *view)
{
        return fchmod(view->directories[1], 0755);
}

static int chown_to_the_same(const struct view_kept *view)
{
        return fchown(view->directories[1], spec.host_uid, spec.host_gid);
}

static int set_and_remove_attribute(const struct view_kept *view)
{
        return fsetxattr(view->directories[1], "trusted.left", "x", 1, 0) < 0
                       ? -1
                       : fremovexattr(view->directories[1], "trusted.left");
}

/* The descriptors of these two stay open. */
static int lock_whole(const struct view_kept *view)
{
        int fd = openat(view->directories[3], ".", O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -1 : flock(fd, LOCK_SH);
}

static int lock_by_descriptor(const struct view_kept *view)
{
        struct flock lock = {.l_type = F_RDLCK, .l_start = 7, .l_len = 1};
        int fd = openat(view->directories[2], ".", O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -1 : fcntl(fd, F_OFD_SETLK, &lock);
}

static int look_only(const struct view_kept *view)
{
        char text[4096];
        struct stat st;
        int fd = openat(view->directories[0], ".", O_RDONLY | O_CLOEXEC);
        long n = syscall(SYS_getdents64, fd, text, sizeof text);
        return n < 0 || fstat(fd, &st) < 0 || openat(fd, "nothing", O_RDONLY) >= 0 ? -1 : close(fd);
}

static const struct {
        const char *name;
        int (*change)(const struct view_kept *view);
        bool is_none;
} changes[] = {
        {"to look", look_only, true},
        {"a file", make_file, false},
        {"a file that is removed", make_and_remove, false},
        {"a directory, and its time is put back", make_and_put_time_back, false},
        {"a file without a name", make_without_name, false},
        {"its mode", chmod_to_the_same, false},
        {"its owner", chown_to_the_same, false},
        {"an attribute", set_and_remove_attribute, false},
        {"flock", lock_whole, false},
        {"a lock", lock_by_descriptor, false},
};

/* NULL: not here, and why is said. */
static struct view_kept *one(struct views *v, int fixed)
{
        bool lost = true;
        struct view_kept *view = views_make(v, fixed, clock_us(), &spec, &lost);
        CHECK(!lost);
        return view;
}

TEST(whatever_was_done_in_a_view_is_seen)
{
        struct views v = {0};
        struct stat here, then;
        if (geteuid() != 0)
                SKIP("not started as root");
        const int fixed = make_fixed();
        CHECK(fixed >= 0 && stat(".", &here) == 0);
        for (size_t i = 0; i < ARRAY_LEN(changes) && fixed >= 0; i++) {
                v.written = 0;
                AUTO(views_free) struct view_kept *view = one(&v, fixed);
                if (!view)
                        SKIP("this kernel does not tell of every change");
                CHECK(stat(".", &then) == 0 && here.st_ino == then.st_ino && here.st_dev == then.st_dev);
                for (int k = 0; k < 3; k++)
                        CHECK(!view_was_written(view) && view_is_as_new(view));
                CHECK_INT(changes[i].change(view), 0);
                const bool new = view_is_as_new(view);
                if (new != changes[i].is_none)
                        printf("# %s\n", changes[i].name);
                CHECK_INT(new, changes[i].is_none);
        }
        close(fixed);
}

TEST(where_all_write_few_are_made)
{
        struct views v = {0};
        int made = 0;
        if (geteuid() != 0)
                SKIP("not started as root");
        const int fixed = make_fixed();
        for (int i = 0; i < 4 + 3 * 16; i++) {
                struct view_kept *view = one(&v, fixed);
                if (v.off)
                        SKIP("this kernel does not tell of every change");
                made += view != NULL;
                if (view)
                        CHECK_INT(make_file(view), 0);
                if (i % 2)
                        views_look(&v, &view);
                views_check(&v, &view);
                CHECK(!view);
        }
        CHECK_INT(made, 4 + 3);
        for (int i = 0; i < 16; i++) { /* one that nobody wrote in, and all are made again */
                AUTO(views_free) struct view_kept *view = one(&v, fixed);
                views_check(&v, &view);
        }
        struct view_kept *view = one(&v, fixed);
        CHECK(view != NULL);
        view = views_free(view);
        close(fixed);
}

TEST(a_view_serves_for_its_limits_and_for_a_while)
{
        struct view_kept view = VIEW_NONE;
        struct cella_limits limits = spec.limits;
        bool last = true;
        view.disk_bytes = limits.disk_bytes;
        view.disk_inodes = limits.disk_inodes;
        view.built = clock_us();
        CHECK(views_serves(&view, &limits, &last) && !last);
        CHECK_INT(views_due(&view), view.built + VIEWS_US);
        limits.disk_bytes++;
        CHECK(!views_serves(&view, &limits, &last));
        limits.disk_bytes--;
        limits.disk_inodes++;
        CHECK(!views_serves(&view, &limits, &last));
        limits.disk_inodes--;
        view.built = clock_us() - VIEWS_LAST_US;
        CHECK(views_serves(&view, &limits, &last) && last);
        view.built = clock_us() - VIEWS_US;
        CHECK(!views_serves(&view, &limits, &last));
}

TEST(what_cannot_be_made_is_not_tried_again_but_for_want_of_descriptors)
{
        struct views v = {0};
        bool lost;
        if (geteuid() != 0)
                SKIP("not started as root");
        if (getenv("CELLA_TEST_SLOW"))
                SKIP("valgrind has limits of its own, and does not know how this tmpfs is made");
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        CHECK(!views_make(&v, null, 0, &spec, &lost) && !lost && v.off);
        close(null);
        const int fixed = make_fixed();
        struct rlimit before, few;
        CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
        few = before;
        v.off = false;
        for (few.rlim_cur = 3; few.rlim_cur < (rlim_t)fixed + 12; few.rlim_cur++) {
                CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
                AUTO(views_free) struct view_kept *view = views_make(&v, fixed, 0, &spec, &lost);
                CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
                CHECK(!lost && (!v.off || !view));
                if (few.rlim_cur <= (rlim_t)fixed + 4) /* it cannot even remember where it is */
                        CHECK(!v.off && !view);
        }
        close(fixed);
}
