/* The groups of dead owners in two hierarchies.  These are ordinary directories: the sweep needs only their
 * names, their locks, and that they can be removed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/cgroup_home.h"

#include "test.h"

static struct cgroup_home home;
static char top[32];

static void begin(void)
{
        snprintf(top, sizeof top, "/tmp/unit-sweep-XXXXXX");
        CHECK(mkdtemp(top));
        for (int c = 0; c < N_CONTROLLERS; c++)
                home.parent[c] = home.twin[c] = -1;
        for (int c = PIDS; c <= CPU; c++) {
                char path[64];
                snprintf(path, sizeof path, "%s/%d", top, c);
                CHECK_INT(mkdir(path, 0755), 0);
                home.parent[c] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                CHECK(home.parent[c] >= 0);
        }
        home.first = PIDS;
}

static void done(void)
{
        char command[64];
        close(home.parent[PIDS]);
        close(home.parent[CPU]);
        snprintf(command, sizeof command, "rm -r %s", top);
        CHECK_INT(system(command), 0);
}

static void make(int c, const char *name)
{
        CHECK_INT(mkdirat(home.parent[c], name, 0755), 0);
}

static int locked(int c, const char *name)
{
        make(c, name);
        int fd = openat(home.parent[c], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CHECK(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
        return fd;
}

static bool is_there(int c, const char *name)
{
        return faccessat(home.parent[c], name, F_OK, 0) == 0;
}

TEST(groups_of_dead_owners_are_removed_from_all_hierarchies)
{
        begin();
        make(PIDS, "cella-1");
        make(CPU, "cella-1");
        make(PIDS, "cella-2"); /* its owner died while it made the next directory */
        make(PIDS, "cella-3");
        make(PIDS, "other-4");
        CHECK_INT(cgroup_home_sweep(&home, "cella-3"), 3);
        CHECK(!is_there(PIDS, "cella-1") && !is_there(CPU, "cella-1") && !is_there(PIDS, "cella-2"));
        CHECK(is_there(PIDS, "cella-3") && is_there(PIDS, "other-4"));
        done();
}

TEST(the_lock_in_the_first_hierarchy_keeps_a_group_in_all)
{
        begin();
        int lock = locked(PIDS, "cella-1");
        make(CPU, "cella-1"); /* not locked yet, or not examined */
        CHECK_INT(cgroup_home_sweep(&home, ""), 0);
        CHECK_INT(cgroup_sweep_all(&home), 0);
        CHECK(is_there(PIDS, "cella-1") && is_there(CPU, "cella-1"));
        close(lock);
        CHECK_INT(cgroup_home_sweep(&home, ""), 2);
        CHECK(!is_there(PIDS, "cella-1") && !is_there(CPU, "cella-1"));
        done();
}

TEST(the_lock_in_another_hierarchy_keeps_it_there)
{
        begin();
        make(PIDS, "cella-1");
        int lock = locked(CPU, "cella-1");
        CHECK_INT(cgroup_home_sweep(&home, ""), 1);
        CHECK(!is_there(PIDS, "cella-1") && is_there(CPU, "cella-1"));
        close(lock);
        CHECK_INT(cgroup_sweep_all(&home), 1); /* also finds groups that are missing in the first hierarchy */
        CHECK(!is_there(CPU, "cella-1"));
        done();
}
