#include <fcntl.h>
#include <linux/mount.h>

#include "sys/file.h"
#include "sys/mount.h"
#include "sys/raw.h"

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

int sys_mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)
{
        return (int)sys_call5(SYS_mount, source, target, type, flags, data);
}

int sys_tmpfs(const char *size, const char *inodes, const char *mode, unsigned attributes)
{
        const char *const options[][2] = {{"size", size}, {"nr_inodes", inodes}, {"mode", mode}};
        AUTO(sys_close) int fs = (int)sys_call2(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
        if (fs < 0)
                return fs;
        for (unsigned i = 0; i < ARRAY_LEN(options); i++) {
                long r = sys_call5(SYS_fsconfig, fs, FSCONFIG_SET_STRING, options[i][0], options[i][1], 0);
                if (r < 0)
                        return (int)r;
        }
        long r = sys_call5(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0);
        if (r < 0)
                return (int)r;
        return (int)sys_call3(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes);
}

int sys_mount_device(const char *type, const char *device, unsigned attributes)
{
        AUTO(sys_close) int fs = (int)sys_call2(SYS_fsopen, type, FSOPEN_CLOEXEC);
        if (fs < 0)
                return fs;
        long r = sys_call5(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "source", device, 0);
        if (r == 0)
                r = sys_call5(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0);
        if (r < 0)
                return (int)r;
        return (int)sys_call3(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes);
}

/* Mounts a file system that shows the caller's namespaces. */
static int mount_own(const char *type, unsigned attributes)
{
        AUTO(sys_close) int fs = (int)sys_call2(SYS_fsopen, type, FSOPEN_CLOEXEC);
        if (fs < 0)
                return fs;
        long r = sys_call5(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0);
        if (r < 0)
                return (int)r;
        return (int)sys_call3(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
                              attributes | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

int sys_proc(bool writable)
{
        return mount_own("proc", writable ? 0 : MOUNT_ATTR_RDONLY);
}

int sys_umount(const char *target, int flags)
{
        return (int)sys_call2(SYS_umount2, target, flags);
}

int sys_pivot_root(const char *new_root, const char *put_old)
{
        return (int)sys_call2(SYS_pivot_root, new_root, put_old);
}

int sys_open_tree_clone(int dir, const char *path, bool recursive)
{
        unsigned flags = OPEN_TREE_CLONE | O_CLOEXEC;
        if (recursive)
                flags |= AT_RECURSIVE;
        if (!*path)
                flags |= AT_EMPTY_PATH;
        return (int)sys_call3(SYS_open_tree, dir, path, flags);
}

int sys_move_mount(int tree_fd, int dir, const char *path)
{
        return (int)sys_call5(SYS_move_mount, tree_fd, "", dir, path, MOVE_MOUNT_F_EMPTY_PATH);
}

static int setattr(int fd, const char *path, struct mount_attr *attr, bool recursive)
{
        unsigned flags = recursive ? AT_RECURSIVE : 0;
        if (!*path)
                flags |= AT_EMPTY_PATH;
        return (int)sys_call5(SYS_mount_setattr, fd, path, flags, attr, sizeof *attr);
}

int sys_mount_setattr(int fd, const char *path, uint64_t set, uint64_t clear, bool recursive)
{
        struct mount_attr attr = {.attr_set = set, .attr_clr = clear};
        return setattr(fd, path, &attr, recursive);
}

int sys_mount_idmap(int fd, int userns_fd, bool recursive)
{
        struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns_fd};
        return setattr(fd, "", &attr, recursive);
}

int sys_mount_private(int fd)
{
        struct mount_attr attr = {.propagation = MS_PRIVATE};
        return setattr(fd, "", &attr, true);
}
