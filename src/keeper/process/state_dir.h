/* keeper/process/state_dir.h -- the daemon's directory: made, given to the server's user, and locked.
 *
 *      lock          held by the keeper as long as it lives; its pid is in it
 *      workspaces/   of sandboxes that keep theirs; made by the server
 *      images/       see image/store/store.h
 *
 * The rest of what is in it is the server's. */
#pragma once
#include "base/auto.h"
#include "cella.h"

struct state_dir {
        char *path; /* without symbolic links */
        int lock, workspaces;
};

/* uid and gid: the server's.  Two daemons must not have the same: "another cella serve". */
int state_dir_open(const char *path, unsigned uid, unsigned gid, struct state_dir *ret,
                   struct cella_err *err);
void state_dir_done(struct state_dir *dir);

/* The store of images in it, made if need be and given to the server's user: a descriptor.  Fine beside a
 * daemon, whose lock it does not take. */
int state_dir_images(const char *path, unsigned uid, unsigned gid, struct cella_err *err);
