#include "attack.h"

/* What CVE-2019-5736 did to runc: a program of the host that runs in the sandbox is
 * opened for writing through /proc/PID/exe.  Never written here. */
ATTACK(overwrite_program, WALL_MOUNT, "open the running programs for writing by /proc/*/exe")
{
        int fd = open("/proc/1/exe", O_WRONLY | O_CLOEXEC);

        if (fd >= 0)
                return attack_succeeded("/proc/1/exe: open for writing");
        if (errno != EACCES && errno != EPERM && errno != ETXTBSY && errno != EROFS && errno != ENOENT)
                return attack_broken("/proc/1/exe: unforeseen: %s", strerror(errno));
        return attack_open_for_writing("/proc/self/exe");
}
