/* init/files/files.c -- finds the files of the workspace that a command changed.
 *
 * All files are hostile: the walk follows no link and limits the depth, the entries examined and the files
 * reported. The list is complete only if no other process of the sandbox is left that could move files
 * during the walk. */
#include <dirent.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "init/files/temporary.h"
#include "init/init.h"
#include "sys/file.h"
#include "sys/raw.h"

#define DEPTH_MAX 32
#define ENTRIES_MAX 20000
#define PATH_BYTES 4096
#define HURRY_US 50000
#define WORKSPACE "/workspace"

struct entry { /* as getdents64 returns it */
        uint64_t inode;
        int64_t offset;
        uint16_t len;
        uint8_t type;
        char name[];
};

struct walk {
        const struct init_list *request;
        uint32_t tag;
        int64_t until; /* deadline of the walk; monotonic, us */
        char *path;    /* current directory, relative to the workspace; PATH_BYTES */
        size_t path_len;
        unsigned depth, entries, reported;
        bool incomplete; /* a limit was reached */
        bool stopped;    /* the walk cannot continue */
};

static uint64_t files_nanoseconds(const struct statx_timestamp *t)
{
        return (uint64_t)t->tv_sec * 1000000000u + t->tv_nsec;
}

static void files_report(struct walk *w, const struct statx *st)
{
        struct init_file file = {.bytes = st->stx_size};
        uint64_t since = w->request->since_ns;
        if (w->request->all_added ||
            ((st->stx_mask & STATX_BTIME) && files_nanoseconds(&st->stx_btime) >= since))
                file.added = 1;
        else if (files_nanoseconds(&st->stx_ctime) < since)
                return;
        if (w->reported == INIT_FILES_MAX) {
                w->stopped = true;
                return;
        }
        w->reported++;
        message_send(INIT_CONTROL_FD, INIT_FILE, w->tag, NULL, 0, &file, sizeof file, w->path, w->path_len);
}

static void walk_directory(struct walk *w, int parent, const char *name);

static void visit(struct walk *w, int dir, const struct entry *e)
{
        struct statx st;
        size_t len = strlen(e->name), before = w->path_len;
        if (!strcmp(e->name, ".") || !strcmp(e->name, ".."))
                return;
        if (before == 0 && !strncmp(e->name, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)))
                return; /* made by init, not by the command */
        if (++w->entries > ENTRIES_MAX || (w->entries % 64 == 0 && clock_us() > w->until)) {
                w->stopped = true;
                return;
        }
        if (before + len + 1 >= PATH_BYTES) {
                w->incomplete = true;
                return;
        }
        if (before > 0)
                w->path[w->path_len++] = '/';
        memcpy(w->path + w->path_len, e->name, len);
        w->path_len += len;
        if (sys_statx(dir, e->name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &st) == 0) {
                if (S_ISDIR(st.stx_mode))
                        walk_directory(w, dir, e->name);
                else if (S_ISREG(st.stx_mode) || S_ISLNK(st.stx_mode))
                        files_report(w, &st);
        } else {
                w->incomplete = true;
        }
        w->path_len = before;
}

static void walk_open(struct walk *w, int dir)
{
        char buffer[2048] __attribute__((aligned(8)));
        if (++w->depth > DEPTH_MAX) {
                w->incomplete = true;
        } else {
                long n;
                while (!w->stopped && (n = sys_call3(SYS_getdents64, dir, buffer, sizeof buffer)) > 0)
                        for (long at = 0; at < n && !w->stopped;) {
                                struct entry *e = (struct entry *)(void *)(buffer + at);
                                visit(w, dir, e);
                                at += e->len;
                        }
        }
        w->depth--;
}

static void walk_directory(struct walk *w, int parent, const char *name)
{
        AUTO(sys_close) int dir = sys_openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (dir < 0)
                w->incomplete = true;
        else
                walk_open(w, dir);
}

static int ahead = -1; /* the workspace, open */

void files_look_ahead(void)
{
        if (ahead < 0)
                ahead = sys_openat(AT_FDCWD, WORKSPACE, O_RDONLY | O_DIRECTORY, 0);
}

static struct walk files_walk(uint32_t tag, const struct init_list *request, bool hurry)
{
        static BULKY char path[PATH_BYTES]; /* its pages are touched only if there is a file to report */
        struct walk w = {.request = request,
                         .tag = tag,
                         .path = path,
                         .until = hurry ? clock_us() + HURRY_US : INT64_MAX};
        if (ahead >= 0 && sys_call3(SYS_lseek, ahead, 0, SEEK_SET) == 0)
                walk_open(&w, ahead);
        else
                walk_directory(&w, AT_FDCWD, WORKSPACE);
        w.incomplete |= w.stopped;
        return w;
}

static void say_done(const struct walk *w)
{
        const uint32_t incomplete = w->incomplete;
        message_send(INIT_CONTROL_FD, INIT_DONE, w->tag, NULL, 0, &incomplete, sizeof incomplete, NULL, 0);
}

void list_files(uint32_t tag, const struct init_list *request, bool hurry)
{
        const struct walk w = files_walk(tag, request, hurry);
        say_done(&w);
}

bool list_none(uint32_t tag, bool hurry)
{
        static const struct init_list everything = {.all_added = 1};
        const struct walk w = files_walk(tag, &everything, hurry);
        if (w.reported == 0 && !w.incomplete)
                return true;
        say_done(&w);
        return false;
}
