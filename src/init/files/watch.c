/* init/files/watch.c -- reports changes below a directory as they happen.
 *
 * There is one inotify watch for each directory, in a table where each entry knows its parent, so that
 * names can be reported relative to the top. A new directory is first watched and then read, because files
 * may have been made in it before. A directory that was moved away is forgotten with everything below it.
 * After each burst there is a pause, in which the kernel collects further events; of several changes of
 * one file in a burst, one is reported. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

#include "init/data.h"
#include "init/files/directory.h"
#include "init/files/temporary.h"
#include "init/operate.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

#define WATCHES_MAX 4096
#define NONE (-1)
#define FULL_PATH_MAX (2 * INIT_PATH_MAX)
#define PAUSE_US 20000
#define SEEN_MAX 1024 /* a power of two */

#define MASK                                                                                                 \
        (IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |   \
         IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK)

struct watch {
        int wd; /* NONE: free */
        int parent;
        char name[256];
};

static BULKY struct watch watches[WATCHES_MAX]; /* the first is the top */
static int n_watches;                           /* slots ever used */
static int notify;
static const char *top_path;
static bool recursive, lost;
static BULKY int queue[WATCHES_MAX]; /* directories that are watched but not read yet */
static int queued;
static BULKY uint64_t seen[SEEN_MAX]; /* hashes of the events reported in this burst */

static int files_watch_find(int wd)
{
        for (int i = 0; i < n_watches; i++)
                if (watches[i].wd == wd)
                        return i;
        return NONE;
}

static int find_child(int parent, const char *name)
{
        for (int i = 1; i < n_watches; i++)
                if (watches[i].wd != NONE && watches[i].parent == parent && !strcmp(watches[i].name, name))
                        return i;
        return NONE;
}

/* Builds the path of name in the directory at, relative to the top; "" is the directory itself. It is
 * built from the end. NULL: too long. */
static const char *path_of(int at, const char *name, char path[INIT_PATH_MAX])
{
        char *p = &path[INIT_PATH_MAX - 1];
        *p = '\0';
        for (;;) {
                size_t len = strlen(name);
                if (len > 0) {
                        if ((size_t)(p - path) < len + 1)
                                return NULL;
                        if (*p)
                                *--p = '/';
                        p -= len;
                        memcpy(p, name, len);
                }
                if (at == 0)
                        return p;
                name = watches[at].name;
                at = watches[at].parent;
        }
}

static uint64_t hash_of(uint32_t kind, int at, const char *name)
{
        uint64_t hash = 14695981039346656037u ^ kind ^ (uint64_t)at << 8;
        for (; *name; name++)
                hash = (hash ^ (unsigned char)*name) * 1099511628211u;
        return hash;
}

static uint64_t *seat_of(uint64_t hash)
{
        return &seen[(hash >> 20) % SEEN_MAX];
}

/* The same as a path for the kernel. The top is not our working directory, because its removal would then
 * not be reported. */
static const char *full_path_of(int at, const char *name, char path[FULL_PATH_MAX])
{
        char buffer[INIT_PATH_MAX];
        const char *rest = path_of(at, name, buffer);
        if (!rest)
                return NULL;
        snprintf(path, FULL_PATH_MAX, "%s%s%s", top_path, *rest ? "/" : "", rest);
        return path;
}

/* Whether this is the first event of its kind in this burst. Also handles events that make others new
 * again. */
static bool is_new(uint32_t kind, int at, const char *name)
{
        uint64_t hash = hash_of(kind, at, name), *seat = seat_of(hash);
        if (*seat == hash)
                return false;
        if (kind != INIT_MODIFIED)
                for (uint32_t other = INIT_CREATED; other <= INIT_MOVED; other++) {
                        uint64_t *its = seat_of(hash_of(other, at, name));
                        if (*its == hash_of(other, at, name))
                                *its = 0;
                }
        *seat = hash;
        return true;
}

static int files_watch_report(uint32_t kind, bool directory, int at, const char *name)
{
        char buffer[INIT_PATH_MAX];
        if (!strncmp(name, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) || !is_new(kind, at, name))
                return 0;
        const char *path = path_of(at, name, buffer);
        if (!path) {
                lost = true;
                return 0;
        }
        const struct init_event event = {
                .kind = kind, .directory = directory, .name_len = (uint32_t)strlen(path)};
        int r = data_put(&event, sizeof event);
        return r < 0 ? r : data_put(path, event.name_len);
}

static int report_plain(uint32_t kind)
{
        const struct init_event event = {.kind = kind};
        return data_put(&event, sizeof event);
}

/* Watches a directory. Returns its slot, or NONE if it cannot be watched. */
static int files_watch_add(int parent, const char *name)
{
        char buffer[FULL_PATH_MAX];
        const char *path = full_path_of(parent, name, buffer);
        int slot = 0;
        while (slot < n_watches && watches[slot].wd != NONE)
                slot++;
        if (!path || slot == WATCHES_MAX || strlen(name) >= sizeof watches[slot].name) {
                lost = true;
                return NONE;
        }
        long wd = sys_call3(SYS_inotify_add_watch, notify, path, slot == 0 ? MASK & ~IN_DONT_FOLLOW : MASK);
        if (wd < 0) {
                lost |= wd != -ENOENT && wd != -ENOTDIR;
                return NONE;
        }
        if (files_watch_find((int)wd) != NONE) /* already watched under another name */
                return NONE;
        if (slot == n_watches)
                n_watches++;
        watches[slot].wd = (int)wd;
        watches[slot].parent = parent;
        queue[queued++] = slot;
        strcpy(watches[slot].name, name); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy): see above */
        return slot;
}

/* Adds the entries of a directory that is now watched; aloud: also reports them. */
static int look_into(int at, bool aloud)
{
        static BULKY struct directory entries;
        const struct directory_entry *e;
        char buffer[FULL_PATH_MAX];
        const char *path = full_path_of(at, "", buffer);
        AUTO(sys_close)
        int fd = path ? sys_openat(AT_FDCWD, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
                      : NONE;
        int r = 0;
        if (fd < 0)
                return 0;
        directory_seek(&entries, fd, 0);
        while (r >= 0 && (r = directory_next(&entries, &e)) > 0) {
                struct statx st;
                if (sys_statx(fd, e->name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) < 0)
                        continue;
                if (S_ISDIR(st.stx_mode) && recursive)
                        files_watch_add(at, e->name);
                r = aloud ? files_watch_report(INIT_CREATED, S_ISDIR(st.stx_mode), at, e->name) : 0;
        }
        return r == -EPIPE ? r : 0;
}

/* Whether slot i lies below (or is) top. */
static bool is_below(int i, int top)
{
        while (i != top && i != 0)
                i = watches[i].parent;
        return i == top;
}

static void files_watch_forget(int top)
{
        static BULKY bool below[WATCHES_MAX];
        for (int i = 0; i < n_watches; i++)
                below[i] = watches[i].wd != NONE && is_below(i, top);
        memset(seen, 0, sizeof seen); /* its hashes contain slot numbers */
        for (int i = 0; i < n_watches; i++)
                if (below[i]) {
                        sys_call2(SYS_inotify_rm_watch, notify, watches[i].wd);
                        watches[i].wd = NONE;
                }
}

/* Watches a directory and all below it. */
static int add_tree(int parent, const char *name, bool aloud)
{
        int r = 0;
        queued = 0;
        files_watch_add(parent, name);
        for (int i = 0; i < queued && r == 0; i++)
                r = look_into(queue[i], aloud);
        return r;
}

/* Events were lost, possibly those of new directories. */
static int look_again(void)
{
        int r = 0, n = recursive ? n_watches : 0;
        lost = true;
        queued = 0;
        for (int i = 0; i < n && r == 0; i++)
                if (watches[i].wd != NONE)
                        r = look_into(i, false);
        for (int i = 0; i < queued && r == 0; i++)
                r = look_into(queue[i], false);
        return r;
}

static int came(int at, const char *name, bool directory)
{
        int r = files_watch_report(INIT_CREATED, directory, at, name);
        return r == 0 && directory && recursive ? add_tree(at, name, true) : r;
}

static int went(uint32_t kind, int at, const char *name, bool directory)
{
        int r = files_watch_report(kind, directory, at, name),
            child = directory ? find_child(at, name) : NONE;
        if (child != NONE)
                files_watch_forget(child);
        return r;
}

static int files_watch_handle(const struct inotify_event *e)
{
        const char *name = e->len > 0 ? e->name : "";
        bool directory = e->mask & IN_ISDIR;
        int at = files_watch_find(e->wd);
        if (e->mask & IN_Q_OVERFLOW)
                return look_again();
        if (at == NONE)
                return 0;
        if (e->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)) {
                if (at == 0)
                        return -ENOENT;
                if (e->mask & IN_IGNORED)
                        files_watch_forget(at);
                return 0;
        }
        if (e->mask & (IN_CREATE | IN_MOVED_TO))
                return came(at, name, directory);
        if (e->mask & IN_DELETE)
                return went(INIT_REMOVED, at, name, directory);
        if (e->mask & IN_MOVED_FROM)
                return went(INIT_MOVED, at, name, directory);
        return e->mask & IN_MODIFY ? files_watch_report(INIT_MODIFIED, directory, at, name) : 0;
}

/* Reads all pending events. */
static int handle_burst(void)
{
        static BULKY char buffer[16384] __attribute__((aligned(8)));
        ssize_t n;
        int r = 0;
        memset(seen, 0, sizeof seen);
        while (r == 0 && (n = sys_read(notify, buffer, sizeof buffer)) > 0)
                for (ssize_t i = 0; i < n && r == 0;) {
                        const struct inotify_event *e = (const void *)(buffer + i);
                        r = files_watch_handle(e);
                        i += (ssize_t)(sizeof *e + e->len);
                }
        if (lost && r == 0)
                r = report_plain(INIT_LOST);
        lost = false;
        int flushed = data_flush();
        return flushed < 0 ? flushed : r;
}

/* Waits for changes, or only for a while if notify_too is not set; -EPIPE when the reader is gone. */
static int wait_for_changes(bool notify_too, int64_t timeout_us)
{
        struct pollfd fds[] = {{DATA_FD, 0, 0}, {notify, POLLIN, 0}};
        int r = sys_poll(fds, notify_too ? 2 : 1, timeout_us);
        return r < 0 && r != -EINTR ? r : fds[0].revents ? -EPIPE : 0;
}

int operate_watch(const struct request_operate *request)
{
        recursive = request->head.flags & INIT_RECURSIVE;
        top_path = request->path;
        AUTO(sys_close) int dir = sys_openat(AT_FDCWD, top_path, O_PATH | O_DIRECTORY, 0);
        if (dir < 0)
                return dir;
        sys_close(TAKE_FD(dir));
        notify = (int)sys_call1(SYS_inotify_init1, IN_NONBLOCK | IN_CLOEXEC);
        if (notify < 0)
                return notify;
        int r = add_tree(0, "", false);
        if (r == 0 && n_watches == 0)
                return -ENOSPC; /* the host's limit on watches */
        if (r == 0)
                r = report_plain(INIT_WATCHING);
        while (r == 0) {
                r = handle_burst();
                if (r == 0)
                        r = wait_for_changes(false, PAUSE_US);
                if (r == 0)
                        r = wait_for_changes(true, -1);
        }
        return r;
}
