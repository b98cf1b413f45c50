/* keeper/spawn/imager_process.h -- starts the process cella-image.
 *
 * It is the only process that parses archives and talks to registries.  It has no privilege, and of the
 * host's files only the image store. */
#pragma once
#include "keeper/spawn/child.h"

struct imager_setup {
        const char *program; /* absolute */
        int store;           /* the directory STATE/images, see state_dir_images() */
        bool change_user;    /* run as uid and gid; otherwise as the caller */
        unsigned uid, gid;
};

/* Starts the process.  *ret_socket: the caller's end of the socket, see wire/imager.h.  The child gets only
 * the proxy variables of the environment.  The program may still fail to start: see child_confirm(). */
int imager_process_start(const struct imager_setup *setup, struct child *ret, int *ret_socket,
                         struct cella_err *err);
