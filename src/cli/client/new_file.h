/* cli/client/new_file.h -- a file that takes its name only when it is complete.
 *
 * The data goes to a temporary file in the same directory, which is then renamed.  So the name itself is
 * never opened: a file that has it is replaced, not written to, and a symbolic link that has it is replaced,
 * not followed.  Any other kind of file that has the name is an error. */
#pragma once
#include <limits.h>

#include "base/id.h"

struct new_file {
        int fd;  /* to write to; -1: there is no file */
        int dir; /* owned */
        char temporary[ID_SIZE];
        char name[NAME_MAX + 1];
};

#define NEW_FILE_NONE ((struct new_file){.fd = -1, .dir = -1})

/* Makes the temporary file in dir, which it takes over (also on failure).  The umask applies to mode.
 * -EISDIR: a directory has the name; -EEXIST: a device, FIFO or socket has it. */
int new_file_begin(struct new_file *f, int dir, const char *name, unsigned mode);
/* Gives it its name.  On failure new_file_done() is still due. */
int new_file_commit(struct new_file *f);
/* Removes it unless it was committed. */
void new_file_done(struct new_file *f);
static inline void new_file_done_auto(struct new_file *f)
{
        new_file_done(f);
}

/* 0 if the name in dir is free, or belongs to a regular file or symbolic link; else as new_file_begin(). */
int new_file_check(int dir, const char *name);

/* For a signal handler: removes the temporary file that is being written, if there is one. */
void new_file_abandon(void);
