#include "keeper/spawn/births.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static bool is_same(int a, int b)
{
        struct stat x, y;
        return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

TEST(a_number_is_taken_until_its_child_has_left)
{
        static struct births b;
        bool left[BIRTHS_MAX + 1] = {false};
        int taken[BIRTHS_MAX];
        int filler = open("/dev/null", O_RDONLY | O_CLOEXEC);
        births_init(&b, filler);
        for (int i = 0; i < 300; i++) /* what comes later is above them */
                CHECK(dup(filler) > 0);
        for (unsigned i = 0; i < BIRTHS_MAX; i++) {
                int pair[2];
                CHECK(pipe2(pair, O_CLOEXEC) == 0 && pair[0] > births_last(&b));
                taken[i] = births_take(&b, pair[0], &left[i]);
                CHECK(taken[i] >= 0 && taken[i] <= births_last(&b) && fcntl(pair[0], F_GETFD) < 0);
                CHECK(fcntl(taken[i], F_GETFD) == FD_CLOEXEC && !is_same(taken[i], filler));
                for (unsigned k = 0; k < i; k++)
                        CHECK(taken[k] != taken[i]);
                close(pair[1]);
        }
        int more = open("/dev/zero", O_RDONLY | O_CLOEXEC);
        CHECK_INT(births_take(&b, more, &left[BIRTHS_MAX]), -1);
        CHECK(fcntl(more, F_GETFD) >= 0);
        left[3] = true;
        CHECK_INT(births_take(&b, more, &left[BIRTHS_MAX]), taken[3]);
        CHECK(!is_same(taken[3], filler));
        births_end(&b, &left[5]);
        CHECK(is_same(taken[5], filler));
        births_end(&b, &left[3]); /* whose it is no more */
        CHECK(!is_same(taken[3], filler));
        births_done(&b);
        CHECK(fcntl(taken[0], F_GETFD) < 0);
}

TEST(without_numbers_there_are_none)
{
        static struct births b;
        bool left = false;
        int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
        births_init(&b, -1);
        CHECK_INT(births_take(&b, fd, &left), -1);
        CHECK(fcntl(fd, F_GETFD) >= 0);
        births_done(&b);
}
