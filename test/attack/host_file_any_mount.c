#include "attack.h"

/* An old root that was left mounted somewhere would be listed here. */
ATTACK(host_file_any_mount, WALL_MOUNT, "read a host file under any mount point in view")
{
        enum attack_outcome outcome = ATTACK_BLOCKED;
        char line[4096], point[1024], path[2048];
        int mounts = 0;

        if (!victim->host_file)
                return attack_broken("needs host_file");
        FILE *mountinfo = fopen("/proc/self/mountinfo", "re");
        if (!mountinfo)
                return attack_broken("/proc/self/mountinfo: %s", strerror(errno));
        while (fgets(line, sizeof line, mountinfo)) {
                if (sscanf(line, "%*s %*s %*s %*s %1023s", point) != 1)
                        continue;
                mounts++;
                snprintf(path, sizeof path, "%s%s", point, victim->host_file);
                int fd = open(path, O_RDONLY | O_CLOEXEC);
                if (fd >= 0)
                        outcome = attack_worse(outcome, attack_steal(fd, victim));
        }
        fclose(mountinfo);
        if (mounts == 0)
                return attack_broken("/proc/self/mountinfo is empty");
        if (outcome == ATTACK_BLOCKED)
                return attack_blocked("under none of %d mount points", mounts);
        return outcome;
}
