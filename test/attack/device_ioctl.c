#include "attack.h"

#include <linux/random.h>
#include <sys/ioctl.h>

/* The one thing that only Landlock refuses: drivers' ioctls on devices in view (its
 * fifth ABI, Linux 6.10).  This one is harmless: how much entropy there is. */
ATTACK(device_ioctl, WALL_LANDLOCK, "talk to a device driver by ioctl")
{
        int entropy = 0;

        if (attack_kernel_before(6, 10))
                return attack_moot("before Linux 6.10 Landlock has no rule for this");
        int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return attack_broken("/dev/urandom: %s", strerror(errno));
        enum attack_outcome outcome = attack_judge(
                "ioctl(RNDGETENTCNT)", CALL(SYS_ioctl, fd, RNDGETENTCNT, &entropy), EACCES, ANSWERS(ENOTTY));
        close(fd);
        return outcome;
}
