/* jail/cgroup_home.c -- finds the directory in which the control groups of sandboxes are made.
 *
 * v1: below the caller's own group in each hierarchy, so that the caller's limits also apply to its
 * sandboxes.  In v2 a group with processes cannot delegate controllers to children.  The groups are therefore
 * made below the nearest ancestor of the caller's group that delegates the needed controllers and is
 * writable. */
#include "jail/cgroup_home.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/file.h"

#define CGROUP2_MAGIC 0x63677270
#define ROOT "/sys/fs/cgroup"
#define UNIFIED ROOT "/unified" /* the v2 mount point on a host with v1 */

static const char *const controller_names[] = {"memory", "pids", "cpu", "cpuacct", "freezer"};

bool cgroup_is_v2(void)
{
        struct statfs fs;
        return statfs(ROOT, &fs) == 0 && fs.f_type == CGROUP2_MAGIC;
}

/* Gets the caller's group: in hierarchy `controller` of v1, or with NULL of v2.  An empty string is the
 * root. */
static int own_group(const char *text, const char *controller, char *ret, size_t size)
{
        for (const char *line = text; *line;) {
                const char *end = strchrnul(line, '\n');
                const char *names = strchr(line, ':');
                const char *path = names ? strchr(names + 1, ':') : NULL;
                if (path && path < end) {
                        bool match = controller == NULL && path == names + 1; /* "0::/path" */
                        for (const char *n = names + 1; controller && n < path && !match;) {
                                size_t len = strcspn(n, ",:");
                                match = len == strlen(controller) && !strncmp(n, controller, len);
                                n += len + 1;
                        }
                        if (match) {
                                size_t len = (size_t)(end - path - 1);
                                if (len >= size)
                                        return -ENAMETOOLONG;
                                memcpy(ret, path + 1, len);
                                ret[len] = '\0';
                                if (!strcmp(ret, "/"))
                                        ret[0] = '\0';
                                return 0;
                        }
                }
                line = *end ? end + 1 : end;
        }
        return -ENOENT;
}

static bool has_word(const char *text, const char *word)
{
        size_t len = strlen(word);
        for (const char *p = text; *p; p += strcspn(p, " \n"), p += strspn(p, " \n"))
                if (!strncmp(p, word, len) && (p[len] == ' ' || p[len] == '\n' || p[len] == '\0'))
                        return true;
        return false;
}

/* Checks whether children of this v2 group get a controller; enables it if this is the root. */
static int hands_down(int dir, const char *controller, bool root)
{
        char text[256];
        ssize_t n = sys_read_file(dir, "cgroup.subtree_control", text, sizeof text);
        if (n < 0)
                return (int)n;
        if (has_word(text, controller))
                return 0;
        if (!root)
                return -ENOENT;
        snprintf(text, sizeof text, "+%s", controller);
        return sys_write_file(dir, "cgroup.subtree_control", text);
}

/* Finds the nearest ancestor of the group `own` that delegates the first n needed controllers.  On failure,
 * *err describes the last one tried, the root. */
static int find_ancestor(const char *own, size_t n, int *ret, struct cella_err *err)
{
        static const char *const needed[] = {"memory", "pids", "cpu"};
        char group[512], path[1024];
        snprintf(group, sizeof group, "%s", own);
        for (;;) {
                int r;
                snprintf(path, sizeof path, ROOT "%s", group);
                AUTO(sys_close) int dir = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
                r = dir < 0 ? dir : faccessat(dir, ".", W_OK, AT_EACCESS) < 0 ? -errno : 0;
                if (r < 0)
                        err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "cgroup: cannot use %.100s", path);
                for (size_t i = 0; i < n && r == 0; i++) {
                        r = hands_down(dir, needed[i], !*group);
                        if (r < 0)
                                err_set(err, CELLA_ISOLATION_UNAVAILABLE, r,
                                        "cgroup: %.100s does not delegate the controller '%s'", path,
                                        needed[i]);
                }
                if (r == 0) {
                        *ret = TAKE_FD(dir);
                        return 0;
                }
                char *slash = strrchr(group, '/');
                if (!slash)
                        return r;
                *slash = '\0';
        }
}

static int find_parent_v2(struct cgroup_home *home, const char *groups, struct cella_err *err)
{
        char own[512];
        int r = own_group(groups, NULL, own, sizeof own);
        if (r < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r,
                               "cgroup: /proc/self/cgroup names no group");
        /* Without CPU limits is better than without a group; the missing limit is reported. */
        r = find_ancestor(own, 3, &home->parent[0], err);
        return r < 0 ? find_ancestor(own, 2, &home->parent[0], err) : 0;
}

/* Opens the caller's group in the hierarchy mounted at root. */
static int open_own(const char *root, const char *groups, const char *controller)
{
        char path[1024], own[512];
        int r = own_group(groups, controller, own, sizeof own);
        if (r < 0)
                return r;
        snprintf(path, sizeof path, "%s%s", root, own);
        int dir = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
        /* A container may see its own group as the root. */
        return dir == -ENOENT ? sys_openat(AT_FDCWD, root, O_RDONLY | O_DIRECTORY, 0) : dir;
}

static int find_parents_v1(struct cgroup_home *home, const char *groups, struct cella_err *err)
{
        int found = 0;
        struct statfs fs;
        for (int c = 0; c < FREEZER; c++) {
                char root[64];
                snprintf(root, sizeof root, ROOT "/%s", controller_names[c]);
                int dir = open_own(root, groups, controller_names[c]);
                home->parent[c] = dir < 0 ? -1 : dir;
                found += dir >= 0;
        }
        int freezer = statfs(UNIFIED, &fs) == 0 && fs.f_type == CGROUP2_MAGIC
                              ? open_own(UNIFIED, groups, NULL)
                              : -ENOENT;
        home->freezer_v2 = freezer >= 0;
        if (freezer < 0)
                freezer = open_own(ROOT "/freezer", groups, controller_names[FREEZER]);
        home->parent[FREEZER] = freezer < 0 ? -1 : freezer;
        return found > 0
                       ? 0
                       : err_set(err, CELLA_ISOLATION_UNAVAILABLE, -ENOENT, "cgroup: no hierarchy at " ROOT);
}

/* Finds an earlier entry with the same directory.  On most hosts cpu and cpuacct are one hierarchy. */
static int find_twin(const struct cgroup_home *home, int controller)
{
        struct stat mine, other;
        if (fstat(home->parent[controller], &mine) < 0)
                return -1;
        for (int c = 0; c < controller; c++)
                if (home->parent[c] >= 0 && fstat(home->parent[c], &other) == 0 &&
                    mine.st_dev == other.st_dev && mine.st_ino == other.st_ino)
                        return c;
        return -1;
}

static int find(struct cgroup_home *home, struct cella_err *err)
{
        char groups[4096];
        ssize_t n = sys_read_file(AT_FDCWD, "/proc/self/cgroup", groups, sizeof groups);
        if (n < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, (int)n,
                               "cgroup: cannot read /proc/self/cgroup");
        home->v2 = home->freezer_v2 = cgroup_is_v2();
        int r = home->v2 ? find_parent_v2(home, groups, err) : find_parents_v1(home, groups, err);
        if (r < 0)
                return r;
        while (home->parent[home->first] < 0)
                home->first++;
        for (int c = 0; c < N_CONTROLLERS; c++) {
                if (home->v2) /* all controllers share one directory */
                        home->parent[c] = home->parent[0];
                home->twin[c] = home->parent[c] < 0 ? -1 : find_twin(home, c);
        }
        return 0;
}

int cgroup_home_open(struct cgroup_home **ret, struct cella_err *err)
{
        AUTO(cgroup_home_free) struct cgroup_home *home = calloc(1, sizeof *home);
        if (!home)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cgroup");
        for (int c = 0; c < N_CONTROLLERS; c++)
                home->parent[c] = home->twin[c] = -1;
        int r = find(home, err);
        if (r == 0)
                *ret = TAKE(home);
        return r;
}

struct cgroup_home *cgroup_home_free(struct cgroup_home *home)
{
        for (int c = 0; home && c < N_CONTROLLERS; c++)
                if (!home->v2 || c == 0)
                        sys_close(home->parent[c]);
        free(home);
        return NULL;
}

void cgroup_make_room(void)
{
        static const char *const needed[] = {"+memory", "+pids", "+cpu"};
        char groups[4096], own[512], path[1024], procs[64], self[24];
        if (!cgroup_is_v2() || sys_read_file(AT_FDCWD, "/proc/self/cgroup", groups, sizeof groups) < 0 ||
            own_group(groups, NULL, own, sizeof own) < 0 || !*own)
                return;
        snprintf(path, sizeof path, ROOT "%s", own);
        AUTO(sys_close) int dir = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
        snprintf(self, sizeof self, "%d\n", (int)getpid());
        if (dir < 0 || sys_read_file(dir, "cgroup.procs", procs, sizeof procs) < 0 ||
            strcmp(procs, self) != 0)
                return;
        int r = sys_mkdirat(dir, "keeper", 0755);
        if ((r < 0 && r != -EEXIST) || sys_write_file(dir, "keeper/cgroup.procs", "0") < 0)
                return;
        for (size_t i = 0; i < ARRAY_LEN(needed); i++)
                sys_write_file(dir, "cgroup.subtree_control", needed[i]);
}
