/* jail/workspace.h -- decides which directories of the host the server may mount in a sandbox.
 *
 * The server names the directories and the keeper, which may be root, opens them.  A compromised server would
 * try to reach the host's files here. */
#pragma once
#include "cella.h"
#include "wire/keeper.h"

struct workspace_policy {
        int workspaces;    /* state/workspaces */
        const char *state; /* the state directory, without symbolic links */
        const char *pin;   /* host workspaces and mounts must be in or below this path (no symbolic links);
                              NULL: anywhere except in system directories */
        const char *only;  /* the one host workspace, named on the command line (no symbolic links); NULL: see
                              pin */
        unsigned owner;    /* owner of the files in workspaces: the server's uid */
};

/* Opens the directory that a request names.  *ret_fd is the directory that was checked, path is its path at
 * that time.  KEEPER_SCRATCH: returns 0 and sets *ret_fd to -1. */
int workspace_open(const struct workspace_policy *policy, const struct keeper_make *make, int *ret_fd,
                   char path[KEEPER_PATH_MAX + KEEPER_NAME_MAX], struct cella_err *err);

/* Whether the directory can be workspace_root: it exists, and the policy allows workspaces in it. */
int workspace_check_root(const struct workspace_policy *policy, const char *root, struct cella_err *err);

/* Opens a directory of the host that is mounted beside the workspace.  *ret_fd and path as above.  Follows no
 * symbolic link: a directory that code can write to may be part of the path that a link leads to, and the
 * code could then choose what the next sandbox shows. */
int workspace_open_mount(const struct workspace_policy *policy, const char *source, int *ret_fd,
                         char path[KEEPER_PATH_MAX], struct cella_err *err);

/* Whether the path is a directory of the system, lies in one or contains one. */
bool workspace_is_of_system(const char *path);
/* Whether this real path is outside the system directories, the state directory and their parents. */
bool workspace_is_allowed(const struct workspace_policy *policy, const char *path);
