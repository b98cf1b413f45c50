/* image/unpack/place.h -- puts files, directories and links below one directory, by paths that an archive
 * chose.
 *
 * Paths are those of tree.h.  A later entry of a name replaces an earlier one; a directory stays a directory.
 * A link on the way is followed as the image itself would: below the directory. */
#pragma once
#include "cella.h"
#include "image/unpack/tree.h"

struct place {
        int top;
        int parent; /* the last one that was used: most entries are in the same as the one before */
        char parent_path[TREE_PATH_MAX];
};

void place_init(struct place *p, int top); /* borrows it */
void place_done(struct place *p);

/* The descriptor of a new file, for writing. */
int place_file(struct place *p, const char *path, unsigned mode, struct cella_err *err);
int place_directory(struct place *p, const char *path, unsigned mode, struct cella_err *err);
int place_symlink(struct place *p, const char *path, const char *target, struct cella_err *err);
int place_link(struct place *p, const char *path, const char *target, struct cella_err *err);

/* The directory that path means below top, made with those above it if they are not there; a descriptor. */
int place_path(int top, const char *path);

/* Errors about one entry: the archive is not as it should be (-EBADMSG), or the system said no. */
int place_refuse(const char *path, const char *why, struct cella_err *err);
int place_fail(const char *path, int r, struct cella_err *err);
