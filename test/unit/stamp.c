#include "sys/stamp.h"

#include <sys/utsname.h>

#include "sys/file.h"
#include "test.h"

#define TURNS 400

static int64_t nanoseconds(const struct timespec *t)
{
        return t->tv_sec * INT64_C(1000000000) + t->tv_nsec;
}

static char directory[] = "/dev/shm/cella-stamp-XXXXXX"; /* a tmpfs, as a sandbox's own workspace */

/* Writes a file, the same one again and again or a new one, as code would, and says how it was stamped. */
static int64_t write_file(const char *name)
{
        struct statx st = {0};
        int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int fd = sys_openat(dir, name, O_WRONLY | O_CREAT | O_APPEND, 0600);
        CHECK(fd >= 0);
        CHECK_INT(write(fd, "x", 1), 1);
        close(fd);
        /* A file that changes after its timestamp was read gets a finer one. */
        CHECK_INT(sys_statx(dir, name, 0, STATX_CTIME, &st), 0);
        close(dir);
        return st.stx_ctime.tv_sec * INT64_C(1000000000) + st.stx_ctime.tv_nsec;
}

static int can_tell(void)
{
        struct utsname name;
        int major = 0, minor = 0;
        uname(&name);
        return sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
               (major > 6 || (major == 6 && minor >= 13));
}

TEST(files_written_before_are_older_and_later_ones_are_not)
{
        int reported = 0;
        CHECK(mkdtemp(directory) != NULL);
        for (int i = 0; i < TURNS; i++) {
                char after[32];
                struct timespec now;
                snprintf(after, sizeof after, "after-%d", i);
                const int64_t before = write_file("before");
                if (!sys_stamp_now(&now))
                        continue;
                reported++;
                CHECK(before < nanoseconds(&now));
                CHECK(write_file(after) >= nanoseconds(&now));
                CHECK(write_file("before") >= nanoseconds(&now));
        }
        CHECK(!can_tell() || reported > TURNS / 4);
        char command[64];
        snprintf(command, sizeof command, "rm -r %s", directory);
        CHECK_INT(system(command), 0);
}

TEST(a_stamp_is_between_the_clock_before_and_after)
{
        for (int i = 0; i < TURNS; i++) {
                struct timespec before, now, after;
                clock_gettime(CLOCK_REALTIME_COARSE, &before);
                sys_stamp_now(&now);
                clock_gettime(CLOCK_REALTIME, &after);
                CHECK(nanoseconds(&now) >= nanoseconds(&before));
                CHECK(nanoseconds(&now) <= nanoseconds(&after));
        }
}
