#include "attack.h"

#define FILE_BYTES (8 << 20) /* many small ones: the limit on one file must not matter */
#define DIR_BYTES (100LL << 20)
#define SLACK_BYTES (64 << 10) /* what the sandbox's own files may take on top */

/* One file of at most FILE_BYTES: how much it took, or -errno. */
static long long fill_file(const char *path)
{
        static char block[1 << 20];
        long long written = 0;
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        if (fd < 0)
                return errno == ENOSPC || errno == ENOENT ? 0 : -errno;
        memset(block, 1, sizeof block);
        while (written < FILE_BYTES) {
                ssize_t n = write(fd, block, sizeof block);

                if (n < 0 && errno != ENOSPC && errno != EFBIG)
                        written = -errno;
                if (n <= 0)
                        break;
                written += n;
        }
        close(fd);
        return written;
}

static long long fill_dir(const char *dir)
{
        char path[64];
        long long total = 0, n = FILE_BYTES;

        for (int i = 0; n == FILE_BYTES && total < DIR_BYTES; i++) {
                snprintf(path, sizeof path, "%s/filler-%d", dir, i);
                n = fill_file(path);
                if (n < 0)
                        return n;
                total += n;
        }
        return total;
}

/* limit: bytes that all writable places together may take. */
BOMB(disk_bomb, WALL_MOUNT, "fill the disk")
{
        static const char *const dirs[] = {"/tmp", "/workspace", "/dev/shm"};
        long long total = 0;

        if (victim->limit <= 0)
                return attack_broken("needs limit");
        signal(SIGXFSZ, SIG_IGN);
        /* At once, without writing anything. */
        int fd = open("/tmp/reserved", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
                return attack_broken("/tmp/reserved: %s", strerror(errno));
        if (fallocate(fd, 0, 0, (off_t)victim->limit * 2) == 0)
                return attack_succeeded("reserved twice the limit");
        close(fd);
        unlink("/tmp/reserved");

        for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
                long long n = fill_dir(dirs[i]);

                if (n < 0)
                        return attack_broken("%s: unforeseen: %s", dirs[i], strerror((int)-n));
                attack_say("%s took %lld bytes", dirs[i], n);
                total += n;
        }
        if (total == 0)
                return attack_broken("nothing could be written at all");
        if (total > victim->limit + SLACK_BYTES)
                return attack_succeeded("%lld bytes where %ld are allowed", total, victim->limit);
        return attack_blocked("%lld bytes, %ld are allowed", total, victim->limit);
}
