/* keeper/process/volume.h -- persistent workspaces with a disk limit that the kernel enforces.
 *
 * For root only.  Each workspace is an ext4 file system in a sparse file, in a directory that belongs to
 * root.  It is mounted through a loop device when its sandbox is made; the device is detached with the last
 * mount.  The server names the volume and never accesses the file: root must not mount a file system image
 * that another user could write. */
#pragma once
#include "cella.h"

/* Opens state/volumes; makes it if needed.  Returns the descriptor or -errno.  -ENOTSUP, with the reason in
 * *err: this host cannot have volumes (no loop device, no mke2fs, not root). */
int volumes_open(int state_dir, struct cella_err *err);

/* Mounts the volume of this name; makes it first if it does not exist, with the size that the limits give.
 * Returns a detached mount (nosuid, nodev) or -errno. */
int volume_mount(int volumes, const char *name, const struct cella_limits *limits, struct cella_err *err);

/* Removes the volume.  If it is mounted, its space is freed with the last mount. */
int volume_remove(int volumes, const char *name);
