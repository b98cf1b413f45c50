/* jail/view_parts.h -- functions shared by view.c, view_image.c and view_host.c.
 *
 * Relative paths start at the root of the view, which is the working directory.  Paths that begin with "/"
 * are the host's. */
#pragma once
#include "jail/spec.h"

/* Sets err to "mount: cannot WHAT 'PATH'" and returns r. */
int view_fail(struct cella_err *err, int r, const char *what, const char *path);

/* Mounts an empty file system with the disk limit and makes it the working directory.  on: the directory of
 * the host that it covers, only in this mount namespace.  files: the number of small own files that it will
 * contain in addition to the code's limit; at least one. */
int view_new_root(const struct jail_spec *spec, const char *on, unsigned files, struct cella_err *err);

int view_write_new(const char *path, const char *text);
/* Writes a resolv.conf with Cella's name server if there is a network; otherwise an empty one. */
int view_write_resolver(const struct jail_spec *spec, const char *path);

/* Returns a detached copy of a host tree with its submounts, with protection flags set.  ready: an existing
 * detached mount, which is taken, or -1. */
int view_host_tree(const struct jail_spec *spec, const char *path, int ready, bool writable, int idmap_fd);

/* Builds the part of the view that is the same for all sandboxes: everything except proc and writable
 * directories. */
int view_build_fixed(const struct jail_spec *spec, struct cella_err *err);

/* Makes the working directory the root, unmounts the host's tree and makes the fixed part read-only. */
int view_pivot(const struct jail_spec *spec, struct cella_err *err);

/* See view_shared.c.  view_take() returns 1 if the shared view cannot be used: the caller is then in its own
 * mount namespace and must build a view. */
int view_take(struct jail_spec *spec, struct cella_err *err);
int view_leave(struct jail_spec *spec, struct cella_err *err);

/* Makes the tmpfs for everything that the code writes; detached.  own_bytes and own_inodes are added to its
 * limits.  Returns its descriptor or -errno. */
int view_new_disk(const struct jail_spec *spec, int64_t own_bytes, unsigned own_inodes,
                  struct cella_err *err);

/* view_show_disk() mounts that tmpfs at dev/shm and the other writable directories; view_give_disk() gives
 * its directories to the code.  See view_disk.c. */
int view_show_disk(const struct jail_spec *spec, struct cella_err *err);
int view_give_disk(const struct jail_spec *spec, struct cella_err *err);

/* Makes device nodes, links and the empty directory pts in dev, which must exist. */
int view_show_devices(const struct jail_spec *spec, struct cella_err *err);
/* Mounts a new instance of devpts at dev/pts: pseudo-terminals that no other sandbox and not the host can
 * see. Must not be called for a view that will be copied, because the copies would share the instance. */
int view_show_terminals(struct cella_err *err);
/* Makes the contents of /proc/sys in the directory proc, which must exist; see view_proc.c. */
int view_make_settings(const struct jail_spec *spec, struct cella_err *err);
/* Mounts proc over it and restricts it. */
int view_show_proc(struct jail_spec *spec, struct cella_err *err);

/* Mounts the directories that the caller asked for. */
int view_show_mounts(const struct jail_spec *spec, struct cella_err *err);
/* Whether one of these mounts replaces the directory. */
bool view_replaced(const struct jail_spec *spec, const char *directory);
