/* cli/new_file.h -- a file that gets its name when it is complete.
 *
 * The data is written to a temporary file in the same directory, which is then renamed.  So the name itself
 * is never opened: an existing file is replaced, not written to, and a symbolic link is replaced, not
 * followed. An existing file of any other kind is an error. */
#pragma once
#include <limits.h>
#include <stdbool.h>

#include "base/auto.h"
#include "base/id.h"

struct new_file {
        int fd;  /* for writing; -1: no file */
        int dir; /* owned */
        char temporary[ID_SIZE];
        char name[NAME_MAX + 1];
};

#define NEW_FILE_NONE ((struct new_file){.fd = -1, .dir = -1})

/* Creates the temporary file in dir and takes ownership of dir (also on failure).  The umask applies to mode.
 * -EISDIR: a directory has the name; -EEXIST: a device, FIFO or socket has it. */
int new_file_begin(struct new_file *f, int dir, const char *name, unsigned mode);
/* The same for a path of the user.  -EEXIST also if new_file_is_special(). */
int new_file_begin_path(struct new_file *f, const char *path, unsigned mode);
/* Renames the file to its name.  After a failure, call new_file_done(). */
int new_file_commit(struct new_file *f);
/* Removes the file unless it was committed. */
void new_file_done(struct new_file *f);
DEFINE_AUTO_DONE(struct new_file, new_file_done)

/* Returns 0 if the name in dir is free or that of a regular file or symbolic link; otherwise the errors of
 * new_file_begin(). */
int new_file_check(int dir, const char *name);

/* Whether the name in dir is, or leads to, anything else than a regular file; also for /dev/stdout, a link
 * that other programs need. */
bool new_file_is_special(int dir, const char *name);

/* For a signal handler: removes the temporary file that is being written, if there is one. */
void new_file_abandon(void);
