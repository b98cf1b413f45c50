/* keeper/process/workspace.h -- which directories of the host the server may have shown in a sandbox.
 *
 * The server names them, and the keeper, which may be root, opens them: so this is where a
 * server that was taken over would try to reach the host's files. */
#pragma once
#include "cella.h"
#include "wire/keeper.h"

struct workspace_policy {
        int workspaces;    /* state/workspaces */
        const char *state; /* the state directory, without symbolic links */
        const char *pin;   /* host workspaces only in or below it, without symbolic links; NULL: anywhere
                            * but in the system's own directories */
        unsigned owner;    /* of what is in workspaces: the server's uid */
};

/* Opens the directory a request is about.  The descriptor is what was checked, and the path its
 * name at that time.  KEEPER_SCRATCH: 0 with *ret_fd -1. */
int workspace_open(const struct workspace_policy *policy, const struct keeper_make *make, int *ret_fd,
                   char path[KEEPER_PATH_MAX + KEEPER_NAME_MAX], struct cella_err *err);

/* Whether this real path is neither one of the system's directories, nor in or above one. */
bool workspace_is_allowed(const struct workspace_policy *policy, const char *path);
