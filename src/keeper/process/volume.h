/* keeper/process/volume.h -- persistent workspaces with a limit that the kernel enforces.
 *
 * As root, each is an ext4 file system of its own in a sparse file of root's own directory,
 * mounted through a loop device when its sandbox is made; the device goes with the last mount.
 * The server names it and never touches the file: a file system image that somebody else
 * could write must not be mounted by root. */
#pragma once
#include "cella.h"

/* Opens or makes state/volumes.  The descriptor, or -errno: -ENOTSUP with the reason in *err if this
 * host cannot have any (no loop device, no mke2fs, not root). */
int volumes_open(int state_dir, struct cella_err *err);

/* Mounts the volume of this name, made if there is none, with room for what the limits say.  Returns
 * a detached mount, nosuid and nodev. */
int volume_mount(int volumes, const char *name, const struct cella_limits *limits, struct cella_err *err);

/* Forgets it.  One that is mounted goes with its last mount. */
int volume_remove(int volumes, const char *name);
