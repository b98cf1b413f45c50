#include <linux/capability.h>
#include <sys/xattr.h>

#include "attack.h"

/* A program with file capabilities gives them to whoever executes it, also outside: such a file would be an
 * escape wherever it is shown without nosuid.  Attributes of "trusted" are those of the kernel's overlays. */
ATTACK(privileged_xattr, WALL_USER, "give a file a capability, or an attribute that only root may set")
{
        const struct vfs_cap_data all = {.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
                                         .data = {{.permitted = ~0u}, {.permitted = ~0u}}};
        const struct {
                const char *name;
                const void *value;
                size_t size;
        } set[] = {{"security.capability", &all, sizeof all}, {"trusted.overlay.opaque", "y", 1}};
        enum attack_outcome outcome = ATTACK_BLOCKED;
        char path[64];

        snprintf(path, sizeof path, "/tmp/attack-xattr-%d", (int)getpid());
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
        if (fd < 0)
                return attack_broken("%s: %s", path, strerror(errno));
        for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
                if (fsetxattr(fd, set[i].name, set[i].value, set[i].size, 0) == 0)
                        outcome = attack_worse(outcome, attack_succeeded("the file has %s", set[i].name));
                else if (errno != EPERM)
                        outcome =
                                attack_worse(outcome, attack_broken("%s: %s", set[i].name, strerror(errno)));
        }
        close(fd);
        unlink(path);
        return outcome == ATTACK_BLOCKED ? attack_blocked("both are refused") : outcome;
}
