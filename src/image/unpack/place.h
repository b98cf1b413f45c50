/* image/unpack/place.h -- creates files, directories and links below one directory, by paths from an archive.
 *
 * Paths are those of tree.h.  A later entry with the same name replaces an earlier one; a directory stays a
 * directory. Links in a path are followed as in the image itself: below the directory. */
#pragma once
#include "cella.h"
#include "image/unpack/tree.h"

struct place {
        int top;
        int parent; /* the last parent directory: most entries have the same one as the entry before */
        char parent_path[TREE_PATH_MAX];
};

void place_init(struct place *p, int top); /* borrows top */
void place_done(struct place *p);

/* Creates a file and returns its descriptor, open for writing. */
int place_file(struct place *p, const char *path, unsigned mode, struct cella_err *err);
int place_directory(struct place *p, const char *path, unsigned mode, struct cella_err *err);
int place_symlink(struct place *p, const char *path, const char *target, struct cella_err *err);
int place_link(struct place *p, const char *path, const char *target, struct cella_err *err);

/* Returns a descriptor of the directory at path below top; creates it and its parents if necessary. */
int place_path(int top, const char *path);

/* Set the error for one entry: the archive is invalid (-EBADMSG), or a system call failed. */
int place_refuse(const char *path, const char *why, struct cella_err *err);
int place_fail(const char *path, int r, struct cella_err *err);
