#include "attack.h"

#include <sys/sysmacros.h>

static const struct node {
        const char *name;
        unsigned major, minor;
} expected[] = {
        {"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0},
};

static bool is_expected(const char *name, const struct stat *st)
{
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
                if (strcmp(expected[i].name, name) == 0)
                        return S_ISCHR(st->st_mode) &&
                               st->st_rdev == makedev(expected[i].major, expected[i].minor);
        return false;
}

/* Disks, /dev/kmsg, /dev/fuse, /dev/console: anything but the six harmless ones. */
ATTACK(device_nodes, WALL_MOUNT, "find a device in /dev that is not one of the six")
{
        char path[512];
        struct dirent *entry;
        struct stat st;
        int harmless = 0, others = 0;

        DIR *dev = opendir("/dev");
        if (!dev)
                return attack_broken("/dev: %s", strerror(errno));
        while ((entry = readdir(dev))) {
                snprintf(path, sizeof path, "/dev/%s", entry->d_name);
                if (lstat(path, &st) < 0 || !(S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
                        continue;
                if (is_expected(entry->d_name, &st)) {
                        harmless++;
                        continue;
                }
                if (others++ == 0)
                        attack_say("%s is a %s device %u:%u", path,
                                   S_ISBLK(st.st_mode) ? "block" : "character", major(st.st_rdev),
                                   minor(st.st_rdev));
        }
        closedir(dev);
        if (others > 0)
                return attack_succeeded("%d devices beyond the six", others);
        if (harmless == 0)
                return attack_broken("/dev is empty");
        return attack_blocked("only the %d harmless ones", harmless);
}
