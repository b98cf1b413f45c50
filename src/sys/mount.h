/* sys/mount.h -- mounts.  Each returns a value or -errno. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

int sys_mount(const char *source, const char *target, const char *type, unsigned long flags,
              const char *data);
/* A new tmpfs, not attached anywhere yet; attributes are MOUNT_ATTR_*.  Returns its descriptor. */
int sys_tmpfs(const char *size, const char *inodes, const char *mode, unsigned attributes);

/* A new view of the caller's process namespace, not attached anywhere.  Returns its descriptor. */
int sys_proc(void);

/* The directory of POSIX message queues of the caller's IPC namespace, likewise. */
int sys_mqueue(void);

/* The file system on a block device, not attached anywhere yet. */
int sys_mount_device(const char *type, const char *device, unsigned attributes);

int sys_umount(const char *target, int flags);
int sys_pivot_root(const char *new_root, const char *put_old);

/* A detached copy of the mount at dir/path (with what is mounted below it, if recursive). */
int sys_open_tree_clone(int dir, const char *path, bool recursive);

/* Attaches the detached mount tree_fd at dir/path, without following a symlink there. */
int sys_move_mount(int tree_fd, int dir, const char *path);

/* Sets and clears MOUNT_ATTR_* on a mount; recursive reaches those below it. */
int sys_mount_setattr(int fd, const char *path, uint64_t set, uint64_t clear, bool recursive);

/* Makes the detached mount fd show its files' owners through a user namespace. */
int sys_mount_idmap(int fd, int userns_fd, bool recursive);

/* Nothing mounted below it elsewhere shows up in it, nor the other way round. */
int sys_mount_private(int fd);
