/* jail/view_parts.h -- what the views of view.c, view_image.c and view_host.c are made of.
 *
 * Paths are relative to the root of the view, where the caller stands, unless they begin with "/": these are
 * the host's. */
#pragma once
#include "jail/spec.h"

/* Sets err: "mount: cannot WHAT 'PATH'". */
int view_fail(struct cella_err *err, int r, const char *what, const char *path);

/* An empty file system with the disk's limit, in which the caller stands then.  on: the directory of the host
 * that it covers, here and nowhere else.  files: how many small files of ours are going to be in it, on top
 * of what the code may use; at least one. */
int view_new_root(const struct jail_spec *spec, const char *on, unsigned files, struct cella_err *err);

int view_write_new(const char *path, const char *text);
/* Whatever name server is asked, it is the same one that answers, if there is a network at all. */
int view_write_resolver(const struct jail_spec *spec, const char *path);

/* A detached copy of a host tree, with its protection on, everything below it included.  ready: one that is
 * there already, which is taken; or -1. */
int view_host_tree(const struct jail_spec *spec, const char *path, int ready, bool writable, int idmap_fd);

/* Of the view of this machine, what is the same for everybody: all but proc and what is written to. */
int view_build_fixed(const struct jail_spec *spec, struct cella_err *err);

/* The caller's directory becomes the root, the host's tree goes, and what is fixed is write-protected. */
int view_pivot(const struct jail_spec *spec, struct cella_err *err);

/* See view_shared.c.  view_take() returns 1 where there is none to be had after all: the caller stands in a
 * mount namespace of its own then, and has to build one. */
int view_take(struct jail_spec *spec, struct cella_err *err);
int view_leave(struct jail_spec *spec, struct cella_err *err);

/* The tmpfs of all that the code writes, not attached yet; own_bytes and own_inodes on top of its limits. */
int view_new_disk(const struct jail_spec *spec, int64_t own_bytes, unsigned own_inodes,
                  struct cella_err *err);

/* The same where it is to be, dev/shm and others, and its directories given to who the code is; see
 * view_disk.c. */
int view_show_disk(const struct jail_spec *spec, struct cella_err *err);
int view_give_disk(const struct jail_spec *spec, struct cella_err *err);

/* Six nodes and some links in dev, which is there. */
int view_show_devices(const struct jail_spec *spec, struct cella_err *err);
/* dev/pts, in dev. */
int view_show_terminals(struct cella_err *err);
/* Makes what is going to be /proc/sys, in the directory proc, which is there; see view_proc.c. */
int view_make_settings(const struct jail_spec *spec, struct cella_err *err);
/* Mounts proc over that and restricts it. */
int view_show_proc(struct jail_spec *spec, struct cella_err *err);

/* Those the caller asked for. */
int view_show_mounts(const struct jail_spec *spec, struct cella_err *err);
/* Whether one of them is there instead. */
bool view_replaced(const struct jail_spec *spec, const char *directory);
