/* keeper/spawn/imager_process.h -- the process cella-image, seen by who started it.
 *
 * The only one that parses archives and talks to registries: it has no privilege, and of the host's files the
 * store of images. */
#pragma once
#include "keeper/spawn/child.h"

struct imager_setup {
        const char *program; /* absolute */
        int store;           /* the directory STATE/images, see state_dir_images() */
        bool change_user;    /* to these; else it stays who we are */
        unsigned uid, gid;
};

/* Starts one; *ret_socket is our end of what wire/imager.h says.  Of our variables it gets those that name a
 * proxy.  It may still fail to run: see child_confirm(). */
int imager_process_start(const struct imager_setup *setup, struct child *ret, int *ret_socket,
                         struct cella_err *err);
