#include "jail/cgroup_processes.h"

#include "test.h"

#define READ_MAX 2047      /* bytes of the list, see the source */
#define NOBODY "4194303\n" /* a number that hardly any host gives */

/* A directory with such a list, as a group has. */
static uint64_t used_by(const char *list)
{
        char path[] = "/tmp/cella-group-XXXXXX";
        int dir = mkdtemp(path) ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        int file = openat(dir, "cgroup.procs", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        CHECK(file >= 0 && write(file, list, strlen(list)) == (ssize_t)strlen(list));
        uint64_t used = cgroup_processes_cpu_us(dir);
        unlinkat(dir, "cgroup.procs", 0);
        rmdir(path);
        close(file);
        close(dir);
        return used;
}

static void burn(void)
{
        while (clock() < CLOCKS_PER_SEC / 10)
                continue;
}

TEST(processes_are_added_up)
{
        char list[64];
        burn();
        prctl(PR_SET_NAME, "a) R 1 (b"); /* the numbers follow the name */
        snprintf(list, sizeof list, "%d\n", (int)getpid());
        uint64_t one = used_by(list);
        CHECK(one >= 80000 && one < 60000000); /* user and system time are rounded down separately */
        snprintf(list, sizeof list, "%d\n" NOBODY "%d\n", (int)getpid(), (int)getpid());
        CHECK(used_by(list) >= 2 * one);
        CHECK_INT(used_by(""), 0);
        CHECK_INT(used_by(NOBODY), 0);
        CHECK_INT(cgroup_processes_cpu_us(-1), 0);
}

/* What is left of a number is a process that has nothing to do with it. */
TEST(a_number_that_is_cut_off_is_not_counted)
{
        char list[READ_MAX + 64], number[16];
        burn();
        size_t len = (size_t)snprintf(number, sizeof number, "%d", (int)getpid());
        size_t before = READ_MAX - len - strlen(NOBODY);
        memset(list, '0', before);
        snprintf(list + before, sizeof list - before, NOBODY "%s77\n", number);
        CHECK_INT(used_by(list), 0);
        snprintf(list + before - 1, sizeof list - before + 1, NOBODY "%s\n77\n", number);
        CHECK(used_by(list) >= 80000);
}
