/* keeper/spawn/assemble.h -- makes sandboxes.
 *
 * This is the code that needs privilege, if the process has any.  It parses no input. */
#pragma once
#include "keeper/spawn/sandbox.h"

/* Whether this process is root in the first user namespace, with the capabilities to mount and to change
 * users. */
bool sandbox_is_privileged(void);

/* Starts to make a sandbox, and returns while init is still setting it up.  Init sends INIT_READY on success,
 * see sandbox_wait_ready().  The network and the image are taken from parts, not from options.  walls_down:
 * walls to leave out, for tests; with WALLS_SEVERAL_USERS, root has several users without an image, too.  The
 * caller frees *ret with sandbox_free(). */
int sandbox_assemble(const struct cella_options *options, const struct sandbox_parts *parts,
                     uint32_t walls_down, struct sandbox **ret, struct cella_err *err);

/* Returns a sealed, executable memfd with a program that is embedded in this one (its number is not one of
 * the low ones that children use), or -errno. */
int program_open_init(void);
int program_open_egress(void);
