/* test/kernel/keeper_imager.c -- the keeper's part of images: cella-image, when the server wants it. */
#include <poll.h>
#include <sys/socket.h>

#include "../unit/test.h"
#include "base/auto.h"
#include "keeper_fake.h"

#define MANY 64
#define SERVER_UID 1879048190u

static struct fake_daemon d;

/* Prints its identity and descriptors, then echoes its input; it does not end by itself. */
static const char script[] = "#!/bin/sh\n"
                             "trap '' TERM\n"
                             "echo \"$(id -u) $(pwd) $(stat -L -c '%a %u' /proc/self/fd/4) $(ls -A "
                             "/proc/self/fd/4/ | wc -l)\" >&3\n"
                             "exec cat <&3 >&3\n";

static bool down(void)
{
        union fake_packet p = {0};
        kill(d.pid, SIGTERM);
        while (fake_receive(&d, &p, NULL, 5000) > 0 &&
               p.type != KEEPER_STOP) /* a server that goes before is lost */
                continue;
        fake_tell(&d, 'q');
        bool good = fake_wait(&d, 5000) == 0;
        close(d.keeper);
        close(d.link);
        d.keeper = d.link = -1;
        return good;
}

/* Starts a daemon with this script as cella-image; text NULL: without one. */
static bool up(const char *text)
{
        char path[128], log[4096];
        bool good = fake_start(&d, false, NULL) && down();
        snprintf(path, sizeof path, "%s/cella-image", d.directory);
        int fd = text ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755) : -1;
        if (text &&
            (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || fchmod(fd, 0755) < 0))
                good = false;
        if (fd >= 0)
                close(fd);
        if (good && fake_start(&d, true, NULL))
                return true;
        fake_log(&d, log, sizeof log);
        printf("# %s\n", log);
        CHECK(!"the daemon came up");
        fake_done(&d);
        return false;
}

/* Returns the socket of a new cella-image, or -1 with the error. */
static int want(struct cella_err *err)
{
        static uint32_t number = 1000;
        const struct keeper_about about = {.type = KEEPER_IMAGER_WANTED, .number = ++number};
        union fake_packet p;
        int fd = -1;
        *err = (struct cella_err){0};
        if (!fake_send(&d, &about, sizeof about))
                return -1;
        do {
                if (fake_receive(&d, &p, &fd, 5000) <= 0)
                        return -1;
        } while (p.number != number);
        if (p.type == KEEPER_FAILED)
                *err = p.failed.err;
        return p.type == KEEPER_IMAGER ? fd : -1;
}

static bool read_line(int fd, char *ret, size_t size)
{
        size_t len = 0;
        struct pollfd ready = {fd, POLLIN, 0};
        while (len + 1 < size && poll(&ready, 1, (int)(5000 * fake_patience())) == 1 &&
               read(fd, ret + len, 1) == 1)
                if (ret[len++] == '\n')
                        break;
        ret[len] = '\0';
        return len > 0 && ret[len - 1] == '\n';
}

static bool echoes(int fd)
{
        char line[16];
        return write(fd, "echo\n", 5) == 5 && read_line(fd, line, sizeof line) && !strcmp(line, "echo\n");
}

static bool has_ended(int fd)
{
        char byte;
        struct pollfd ready = {fd, POLLIN, 0};
        return poll(&ready, 1, (int)(5000 * fake_patience())) == 1 && read(fd, &byte, 1) <= 0;
}

static pid_t find_imager(void)
{
        pid_t pids[MANY];
        char path[64], name[32];
        size_t n = fake_descendants(d.pid, pids, MANY);
        for (size_t i = 0; i < n; i++) {
                snprintf(path, sizeof path, "/proc/%d/comm", (int)pids[i]);
                int fd = open(path, O_RDONLY | O_CLOEXEC);
                ssize_t len = fd < 0 ? 0 : read(fd, name, sizeof name - 1);
                name[len > 0 ? len : 0] = '\0';
                if (fd >= 0)
                        close(fd);
                if (!strncmp(name, "cat", 3))
                        return pids[i];
        }
        return 0;
}

TEST(cella_image_runs_unprivileged_with_a_descriptor_of_the_store)
{
        struct cella_err err;
        char line[256], wanted[256];
        if (!up(script))
                return;
        int fd = want(&err);
        CHECK(fd >= 0 && read_line(fd, line, sizeof line));
        const unsigned uid = geteuid() == 0 ? SERVER_UID : geteuid();
        snprintf(wanted, sizeof wanted, "%u / 700 %u 0\n", uid, uid);
        CHECK_STR(line, wanted);
        CHECK(echoes(fd));
        CHECK_INT(fake_held(find_imager()).others, 5); /* three standard ones, the socket, the store */
        close(fd);
        CHECK(down());
        fake_done(&d);
}

TEST(a_second_cella_image_starts_after_the_first_is_dead)
{
        struct cella_err err;
        char line[256];
        int last = -1;
        if (!up(script))
                return;
        for (int i = 0; i < 5; i++) {
                int fd = want(&err);
                CHECK(fd >= 0 && read_line(fd, line, sizeof line) && echoes(fd));
                CHECK(last < 0 || has_ended(last)); /* the keeper ended it */
                if (last >= 0)
                        close(last);
                last = fd;
        }
        /* The same after a kill. */
        pid_t pid = find_imager();
        CHECK(pid > 0 && kill(pid, SIGKILL) == 0 && has_ended(last));
        close(last);
        CHECK((last = want(&err)) >= 0 && read_line(last, line, sizeof line) && echoes(last));
        /* The end of the keeper ends cella-image, too. */
        pid = find_imager();
        kill(d.pid, SIGKILL);
        CHECK(has_ended(last) && pid > 0);
        close(last);
        fake_done(&d);
}

TEST(a_cella_image_that_cannot_run_does_not_stop_the_keeper)
{
        struct cella_err err;
        struct fake_sandbox s;
        char line[64];
        if (!up("#!/no/such/interpreter\n"))
                return;
        int fd = want(&err); /* the failure shows when the process is dead */
        CHECK(fd >= 0 && !read_line(fd, line, sizeof line));
        close(fd);
        CHECK(fake_make(&d, NULL, &s) && fake_ready(&s));
        close(s.control);
        CHECK(down());
        fake_done(&d);
}
