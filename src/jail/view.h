/* jail/view.h -- the root file system as the code sees it. */
#pragma once
#include "jail/spec.h"

/* Builds the view in the caller's own mount namespace and stands in its root
 * directory.  The host is still reachable: view_enter() ends that. */
int view_build(struct jail_spec *spec, struct cella_err *err);

/* The same for code that is run directly: the host's files, see view_host.c. */
int view_build_host(const struct jail_spec *spec, struct cella_err *err);

/* And for an image's: what can be made before the code's uid is known, and the rest; see view_image.c. */
int view_build_image(struct jail_spec *spec, struct cella_err *err);
int view_give_image(const struct jail_spec *spec, struct cella_err *err);

/* Gives the code what is its own, once its uid is known. */
int view_give(const struct jail_spec *spec, struct cella_err *err);

/* Makes the view the root, drops the host's tree and write-protects what is fixed. */
int view_enter(const struct jail_spec *spec, struct cella_err *err);

/* Directories of the view that the code may write to, NULL-terminated. */
extern const char *const view_writable[];
