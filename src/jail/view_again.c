#include "jail/view_again.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/err.h"
#include "jail/landlock.h"
#include "jail/view.h"
#include "jail/view_parts.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"
#include "wire/message.h"

/* Where the process came from. */
struct home {
        int proc, namespace, root, directory;
};

static void home_close_auto(struct home *home)
{
        sys_close(home->proc);
        sys_close(home->namespace);
        sys_close(home->root);
        sys_close(home->directory);
}

static int home_open(struct home *ret)
{
        ret->proc = sys_openat(AT_FDCWD, "/proc", O_PATH | O_DIRECTORY, 0);
        ret->namespace = ret->proc < 0 ? -1 : sys_openat(ret->proc, "thread-self/ns/mnt", O_RDONLY, 0);
        ret->root = sys_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        ret->directory = sys_openat(AT_FDCWD, ".", O_PATH | O_DIRECTORY, 0);
        return ret->namespace < 0 || ret->root < 0 || ret->directory < 0 ? -EMFILE : 0;
}

static int go_home(const struct home *home)
{
        if (sys_setns(home->namespace, CLONE_NEWNS) < 0 || sys_fchdir(home->root) < 0 ||
            sys_call1(SYS_chroot, ".") < 0 || sys_fchdir(home->directory) < 0)
                return -ENOTRECOVERABLE;
        return 0;
}

/* All that there is to know, at once; what is not told is zero each time. */
static int look(int fd, struct statx *ret)
{
        memset(ret, 0, sizeof *ret);
        return sys_statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, ret);
}

static int look_at_room(int fd, struct statfs *ret)
{
        memset(ret, 0, sizeof *ret);
        return (int)sys_call2(SYS_fstatfs, fd, ret);
}

/* The number of a file that has no name and is gone at once: such a one leaves no other trace. */
static int64_t count_inode(int directory)
{
        struct statx st;
        AUTO(sys_close) int file = sys_openat(directory, ".", O_TMPFILE | O_RDWR, 0600);
        int r = file < 0 ? file : sys_statx(file, "", AT_EMPTY_PATH, STATX_INO, &st);
        return r < 0 ? r : (int64_t)st.stx_ino;
}

/* Until Linux 6.13 two changes within some milliseconds have the same time.  Three times, because the clock
 * may tick between two. */
static bool tells_every_change(int directory)
{
        struct statx before, after;
        for (int i = 0; i < 3; i++) {
                if (look(directory, &before) < 0 ||
                    sys_call2(SYS_fchmod, directory, before.stx_mode & 07777) < 0 ||
                    look(directory, &after) < 0)
                        return false;
                if (!memcmp(&before.stx_ctime, &after.stx_ctime, sizeof before.stx_ctime))
                        return false;
        }
        return true;
}

static int record(struct view_kept *view)
{
        int r = tells_every_change(view->directories[0]) ? 0 : -ENOTSUP;
        int64_t inode = r < 0 ? r : count_inode(view->directories[0]);
        if (inode < 0)
                return (int)inode;
        view->next_inode = (uint64_t)inode + 1;
        for (size_t i = 0; i < VIEW_DIRECTORIES && r == 0; i++)
                r = look(view->directories[i], &view->fresh[i]);
        return r < 0 ? r : look_at_room(view->directories[0], &view->room);
}

/* In a copy of the fixed part, whose root is the caller's. */
static int make(const struct jail_spec *spec, const struct home *home, struct view_kept *ret)
{
        struct cella_err err = {0};
        int r = view_show_disk(spec, &err);
        if (r < 0 || (r = view_give_disk(spec, &err)) < 0)
                return r;
        for (size_t i = 0; i < VIEW_DIRECTORIES; i++) {
                r = ret->directories[i] =
                        sys_openat(AT_FDCWD, view_writable[i] + 1, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
                if (r < 0)
                        return r;
        }
        r = ret->ruleset = landlock_prepare(spec, &err);
        if (r < -1)
                return r;
        r = ret->namespace = sys_openat(home->proc, "thread-self/ns/mnt", O_RDONLY, 0);
        return r < 0 ? r : record(ret);
}

int view_keep(int fixed, const struct jail_spec *spec, struct view_kept *ret)
{
        AUTO(home_close) struct home home;
        AUTO(view_let_go) struct view_kept view = VIEW_NONE;
        int r = home_open(&home);
        if (r < 0)
                return r;
        mode_t mask = sys_umask(0);
        if ((r = sys_setns(fixed, CLONE_NEWNS)) == 0 && (r = sys_unshare(CLONE_NEWNS)) == 0)
                r = make(spec, &home, &view);
        int back = go_home(&home);
        sys_umask(mask);
        if (back < 0 || r < 0)
                return back < 0 ? back : r;
        view.disk_bytes = spec->limits.disk_bytes;
        view.disk_inodes = spec->limits.disk_inodes;
        *ret = view_take_over(&view);
        return 0;
}

bool view_was_written(const struct view_kept *view)
{
        struct statx now;
        for (size_t i = 0; i < VIEW_DIRECTORIES; i++)
                if (look(view->directories[i], &now) < 0 || memcmp(&now, &view->fresh[i], sizeof now) != 0)
                        return true;
        return false;
}

/* A lock goes with the last descriptor of its file, and one that was on its way through a socket may go some
 * milliseconds after the processes. */
static bool is_locked(int directory)
{
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if (sys_call3(SYS_fcntl, directory, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK)
                return true;
        return sys_call2(SYS_flock, directory, LOCK_EX | LOCK_NB) < 0 ||
               sys_call2(SYS_flock, directory, LOCK_UN) < 0;
}

bool view_is_as_new(struct view_kept *view)
{
        struct statfs room;
        if (view_was_written(view) || count_inode(view->directories[0]) != (int64_t)view->next_inode)
                return false;
        view->next_inode++;
        for (size_t i = 0; i < VIEW_DIRECTORIES; i++)
                if (is_locked(view->directories[i]))
                        return false;
        return look_at_room(view->directories[0], &room) == 0 && !memcmp(&room, &view->room, sizeof room);
}

void view_let_go(struct view_kept *view)
{
        sys_close(view->namespace);
        sys_close(view->ruleset);
        for (size_t i = 0; i < VIEW_DIRECTORIES; i++)
                sys_close(view->directories[i]);
        *view = VIEW_NONE;
}

/* All but Landlock's, which has nothing to do with what is in there. */
static int send_away(const struct view_kept *view, const int sockets[2])
{
        int fds[VIEW_DIRECTORIES + 2] = {view->namespace, sockets[1]};
        memcpy(fds + 2, view->directories, sizeof view->directories);
        return message_send(sockets[0], 0, 0, fds, ARRAY_LEN(fds), NULL, 0, NULL, 0);
}

void view_give_up(struct view_kept *view)
{
        int sockets[2];
        const bool sent = message_pair(sockets) == 0;
        if (sent) {
                send_away(view, sockets); /* if it was not, the rest is as without it */
                sys_close(sockets[1]);
        }
        view_let_go(view);
        if (sent)
                sys_close(sockets[0]); /* now the kernel looks for what nobody can receive */
}
