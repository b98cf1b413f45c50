#include "attack.h"

/* A cgroup v1 hierarchy in view is a way to root: its release_agent is run by the
 * kernel outside every namespace.  It is only looked for. */
ATTACK(host_cgroupfs, WALL_MOUNT, "find a cgroup file system, and its release_agent")
{
        char line[4096], point[1024], path[1100];
        enum attack_outcome outcome = ATTACK_BLOCKED;
        int mounts = 0;

        FILE *mountinfo = fopen("/proc/self/mountinfo", "re");
        if (!mountinfo)
                return attack_broken("/proc/self/mountinfo: %s", strerror(errno));
        while (fgets(line, sizeof line, mountinfo)) {
                const char *type = strstr(line, " - ");

                mounts++;
                if (!type || strncmp(type, " - cgroup", 9) != 0)
                        continue;
                if (sscanf(line, "%*s %*s %*s %*s %1023s", point) != 1)
                        continue;
                snprintf(path, sizeof path, "%s/release_agent", point);
                outcome = attack_worse(
                        outcome,
                        attack_succeeded("%s%s", point,
                                         access(path, F_OK) == 0 ? " has a release_agent" : " is in view"));
        }
        fclose(mountinfo);
        if (mounts == 0)
                return attack_broken("/proc/self/mountinfo is empty");
        if (outcome == ATTACK_BLOCKED)
                return attack_blocked("none of %d mounts is a cgroup file system", mounts);
        return outcome;
}
