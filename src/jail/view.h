/* jail/view.h -- the root file system that the code sees. */
#pragma once
#include "jail/spec.h"

/* Builds the view in the caller's mount namespace and makes its root the working directory.  The host stays
 * reachable until view_enter(). */
int view_build(struct jail_spec *spec, struct cella_err *err);

/* The same for code that runs directly on the host, see view_host.c. */
int view_build_host(const struct jail_spec *spec, struct cella_err *err);

/* The same for an image: view_build_image() makes what does not need the code's uid, view_give_image() the
 * rest; see view_image.c. */
int view_build_image(struct jail_spec *spec, struct cella_err *err);
int view_give_image(const struct jail_spec *spec, struct cella_err *err);

/* Gives the code its directories, once its uid is known. */
int view_give(const struct jail_spec *spec, struct cella_err *err);

/* Makes the view the root, unmounts the host's tree and makes the fixed part read-only. */
int view_enter(const struct jail_spec *spec, struct cella_err *err);

/* Directories of the view that the code may write to, NULL-terminated. */
extern const char *const view_writable[];
