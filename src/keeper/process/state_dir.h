/* keeper/process/state_dir.h -- the daemon's directory: makes it, gives it to the server's user and locks it.
 *
 *  lock          held by the keeper while it runs; contains its pid
 *  workspaces/   persistent workspaces, made by the server
 *  images/       see image/store/store.h
 *
 * All other files in it belong to the server. */
#pragma once
#include "base/auto.h"
#include "cella.h"

struct state_dir {
        char *path; /* without symbolic links */
        int lock, workspaces;
};

/* Makes, opens and locks the directory.  uid and gid: the server's user.  Fails if another daemon uses it. */
int state_dir_open(const char *path, unsigned uid, unsigned gid, struct state_dir *ret,
                   struct cella_err *err);
void state_dir_done(struct state_dir *dir);

/* Checks whether state_dir_open() could use this path.  Changes nothing, takes no lock. */
int state_dir_check(const char *path, unsigned uid, unsigned gid, struct cella_err *err);

/* Opens the image store in the directory; makes it if needed and gives it to the server's user.  Returns a
 * descriptor.  Takes no lock, so it can be used beside a daemon. */
int state_dir_images(const char *path, unsigned uid, unsigned gid, struct cella_err *err);
