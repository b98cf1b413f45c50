/* A descriptor that a hostile init sends as a terminal: what it may be, and that it never blocks the server.
 */
#include "../../src/engine/link/pty.c"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <termios.h>

#include "test.h"

static int open_master(void)
{
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        CHECK(master >= 0);
        CHECK_INT(unlockpt(master), 0);
        return master;
}

static int open_slave(int master)
{
        int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        CHECK(slave >= 0);
        return slave;
}

TEST(only_a_pty_master_is_taken)
{
        int master = open_master(), slave = open_slave(master), pair[2], pipes[2];
        CHECK_INT(pty_check(master), 0);
        CHECK(fcntl(master, F_GETFL) & O_NONBLOCK);
        CHECK_INT(pty_check(slave), -ENOTTY);
        CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        CHECK_INT(pty_check(pair[0]), -ENOTTY);
        CHECK_INT(pipe2(pipes, O_CLOEXEC), 0);
        CHECK_INT(pty_check(pipes[0]), -ENOTTY);
        CHECK(!(fcntl(pipes[0], F_GETFL) & O_NONBLOCK));
        CHECK_INT(pty_check(-1), -EBADF);
        static const struct {
                const char *path;
                int flags;
        } others[] = {{"/dev/null", O_RDWR},
                      {"/dev/zero", O_RDWR},
                      {"/proc/self/exe", O_RDONLY},
                      {"/", O_RDONLY},
                      {"/dev/ptmx", O_PATH},
                      {"/dev/ptmx", O_RDONLY | O_NOCTTY},
                      {"/dev/ptmx", O_WRONLY | O_NOCTTY}};
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
                int fd = open(others[i].path, others[i].flags | O_CLOEXEC);
                CHECK(fd >= 0);
                CHECK_INT(pty_check(fd), -ENOTTY);
                close(fd);
        }
        close(master), close(slave), close(pair[0]), close(pair[1]), close(pipes[0]), close(pipes[1]);
}

TEST(bytes_go_both_ways)
{
        char text[64] = "";
        int master = open_master(), slave = open_slave(master);
        CHECK_INT(pty_check(master), 0);
        CHECK_INT(pty_read(master, text, sizeof text), -EAGAIN);
        CHECK_INT(write(slave, "out", 3), 3);
        CHECK_INT(pty_read(master, text, sizeof text), 3);
        CHECK(memcmp(text, "out", 3) == 0);
        CHECK_INT(pty_write(master, "in\n", 3), 3);
        CHECK_INT(read(slave, text, sizeof text), 3);
        while (pty_read(master, text, sizeof text) > 0) /* the echo */
                continue;
        close(slave);
        CHECK_INT(pty_read(master, text, sizeof text), -EIO);
        close(master);
}

TEST(a_master_that_was_made_to_block_is_refused)
{
        char text[64];
        int master = open_master(), slave = open_slave(master);
        CHECK_INT(pty_check(master), 0);
        CHECK_INT(fcntl(master, F_SETFL, O_RDWR), 0); /* init, through its own descriptor */
        CHECK_INT(pty_read(master, text, sizeof text), -EDEADLK);
        CHECK_INT(pty_write(master, "x", 1), -EDEADLK);
        close(master), close(slave);
}

/* Past the look at the flag: as if it was cleared just after. */
TEST(a_call_that_blocks_is_interrupted)
{
        static char block[4096];
        int master = open_master(), slave = open_slave(master);
        struct termios raw;
        ssize_t n = 0;
        CHECK_INT(pty_check(master), 0);
        CHECK_INT(fcntl(master, F_SETFL, O_RDWR), 0);
        CHECK_INT(guarded(master, block, NULL, sizeof block), -EDEADLK);
        /* A terminal in canonical mode drops the end of a line that is too long.  In raw mode it has
         * room for 64 KiB that the slave does not read; then a write blocks. */
        CHECK_INT(tcgetattr(slave, &raw), 0);
        cfmakeraw(&raw);
        CHECK_INT(tcsetattr(slave, TCSANOW, &raw), 0);
        memset(block, 'x', sizeof block);
        for (int i = 0; i < 1000 && n >= 0; i++)
                n = guarded(master, NULL, block, sizeof block);
        CHECK_INT(n, -EDEADLK);
        close(master), close(slave);
}

static atomic_bool enough;

static void *toggle(void *arg)
{
        const int master = *(const int *)arg;
        while (!enough) {
                fcntl(master, F_SETFL, O_RDWR);
                fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK);
        }
        return NULL;
}

TEST(a_flag_that_changes_all_the_time_never_blocks)
{
        char text[64];
        int master = open_master(), slave = open_slave(master);
        pthread_t thread;
        CHECK_INT(pty_check(master), 0);
        CHECK_INT(pthread_create(&thread, NULL, toggle, &master), 0);
        for (int i = 0; i < 20000; i++) {
                ssize_t n = pty_read(master, text, sizeof text);
                if (n != -EAGAIN && n != -EDEADLK)
                        CHECK_INT(n, -EAGAIN);
        }
        enough = true;
        pthread_join(thread, NULL);
        close(master), close(slave);
}
