#include "core/sandbox/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "core/docker.h"

#define DEPTH_MAX 128 /* deeper trees are moved up, see sandbox_workspace_empty() */

static int open_root(const struct core *core)
{
        char path[KEEPER_PATH_MAX + 16];
        snprintf(path, sizeof path, "%s/workspaces", core->directory);
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT && mkdir(path, 0700) == 0)
                fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

#define OF_DOCKER ".docker"

void workspace_name(const char *id, enum engine_choice engine, char ret[KEEPER_NAME_MAX])
{
        snprintf(ret, KEEPER_NAME_MAX, "%.40s%s", id, engine == ENGINE_DOCKER ? OF_DOCKER : "");
}

int workspace_make(const struct core *core, const char *name, struct cella_err *err)
{
        int root = open_root(core);
        int r = root < 0 ? root : mkdirat(root, name, 0700) < 0 && errno != EEXIST ? -errno : 0;
        if (root >= 0)
                close(root);
        return r < 0 ? err_set(err, r == -ENOSPC || r == -EDQUOT ? CELLA_OVER_CAPACITY : CELLA_INTERNAL, r,
                               "cannot make a workspace in %.100s", core->directory)
                     : 0;
}

/* Removes the contents of the directory, which may be anything, at any depth.  Directories that are too deep
 * are first moved to `top` under a new name and found there again. */
static void sandbox_workspace_empty(int top, int dir, unsigned depth)
{
        static _Thread_local unsigned long moved;
        DIR *d = fdopendir(dir);
        if (!d) {
                close(dir);
                return;
        }
        (void)!fchmod(dirfd(d), 0700);
        for (struct dirent *e; (e = readdir(d));) {
                char name[40];
                if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
                        continue;
                if (unlinkat(dirfd(d), e->d_name, 0) == 0 || (errno != EISDIR && errno != EPERM))
                        continue;
                if (depth == DEPTH_MAX) {
                        snprintf(name, sizeof name, "moved-%lu", moved++);
                        (void)!fchmodat(dirfd(d), e->d_name, 0700, 0);
                        (void)!renameat(dirfd(d), e->d_name, top, name);
                        continue;
                }
                (void)!fchmodat(dirfd(d), e->d_name, 0700, 0);
                int below = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (below >= 0)
                        sandbox_workspace_empty(top, below, depth + 1);
                unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
        }
        closedir(d);
}

static void remove_tree(int root, const char *name)
{
        for (int pass = 0; pass < 1000; pass++) {
                int top = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                int dir = top < 0 ? -1 : openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (dir >= 0)
                        sandbox_workspace_empty(top, dir, 0);
                if (top >= 0)
                        close(top);
                if (unlinkat(root, name, AT_REMOVEDIR) == 0 || errno != ENOTEMPTY)
                        return;
        }
}

struct removal {
        uv_work_t work;
        int root;
        char name[KEEPER_NAME_MAX];
};

static void do_remove(uv_work_t *work)
{
        struct removal *r = work->data;
        remove_tree(r->root, r->name);
}

static void removed(uv_work_t *work, int status)
{
        struct removal *r = work->data;
        (void)status;
        close(r->root);
        free(r);
}

static void remove_directory(struct core *core, const char *name)
{
        struct removal *r = calloc(1, sizeof *r);
        if (!r)
                return; /* the next start removes it */
        r->root = open_root(core);
        r->work.data = r;
        memcpy(r->name, name, strnlen(name, sizeof r->name - 1));
        if (r->root < 0 || uv_queue_work(core->loop, &r->work, do_remove, removed) < 0) {
                if (r->root >= 0)
                        close(r->root);
                free(r);
        }
}

void workspace_remove(struct core *core, const char *name)
{
        const size_t len = strlen(name), end = strlen(OF_DOCKER);
        if (len > end && !strcmp(name + len - end, OF_DOCKER)) {
                docker_drop(core->docker, name, remove_directory);
        } else {
                /* The directory only marks the workspace if it is a volume. */
                keeper_link_drop(core->keeper, name);
                remove_directory(core, name);
        }
}

void workspace_sweep(struct core *core, bool (*is_used)(const struct core *core, const char *name))
{
        int root = open_root(core);
        DIR *d = root < 0 ? NULL : fdopendir(root);
        if (!d)
                return;
        for (struct dirent *e; (e = readdir(d));)
                if (e->d_name[0] != '.' && strlen(e->d_name) < KEEPER_NAME_MAX && !is_used(core, e->d_name))
                        workspace_remove(core, e->d_name);
        closedir(d);
}
