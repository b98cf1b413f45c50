#include "attack.h"

/* A sparse file of one tebibyte takes no space, but a copy does, and hashing it takes long. */
BOMB(huge_file, WALL_RLIMIT, "make a huge file full of holes")
{
        int fd = open("/tmp/huge", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        if (fd < 0)
                return attack_broken("/tmp/huge: %s", strerror(errno));
        signal(SIGXFSZ, SIG_IGN);
        enum attack_outcome outcome =
                attack_judge("ftruncate", CALL(SYS_ftruncate, fd, 1L << 40), EFBIG, ANSWERS(EINVAL));
        outcome =
                attack_worse(outcome, attack_judge("pwrite far out", CALL(SYS_pwrite64, fd, "x", 1, 1L << 40),
                                                   EFBIG, ANSWERS(ENOSPC)));
        close(fd);
        unlink("/tmp/huge");
        return outcome;
}
