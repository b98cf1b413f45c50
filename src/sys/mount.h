/* sys/mount.h -- mounts.  Each function returns a value or -errno. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

int sys_mount(const char *source, const char *target, const char *type, unsigned long flags,
              const char *data);
/* Creates a tmpfs that is not attached yet and returns its descriptor.  attributes: MOUNT_ATTR_*. */
int sys_tmpfs(const char *size, const char *inodes, const char *mode, unsigned attributes);

/* Creates a detached /proc of the caller's PID namespace and returns its descriptor. */
int sys_proc(bool writable);

/* Creates a detached mount of the file system on a block device and returns its descriptor. */
int sys_mount_device(const char *type, const char *device, unsigned attributes);

int sys_umount(const char *target, int flags);
int sys_pivot_root(const char *new_root, const char *put_old);

/* Returns a detached copy of the mount at dir/path, with the mounts below it if recursive. */
int sys_open_tree_clone(int dir, const char *path, bool recursive);

/* Attaches the detached mount tree_fd at dir/path.  Does not follow a symlink there. */
int sys_move_mount(int tree_fd, int dir, const char *path);

/* Sets and clears MOUNT_ATTR_* of a mount, and of the mounts below it if recursive. */
int sys_mount_setattr(int fd, const char *path, uint64_t set, uint64_t clear, bool recursive);

/* Maps the owners of files in the detached mount fd through a user namespace. */
int sys_mount_idmap(int fd, int userns_fd, bool recursive);

/* Makes the mount and the mounts below it private: mounts are not propagated into or out of it. */
int sys_mount_private(int fd);
