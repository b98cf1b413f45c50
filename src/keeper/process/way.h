/* keeper/process/way.h -- whether the server's user can reach a path.
 *
 * The server opens files by their paths, as a user that has no rights in a private home directory.  Checked
 * before the server starts, because its own error would only say "Permission denied". */
#pragma once
#include "cella.h"

/* Checks each directory above path with the rights of the user, so that access control lists count, too.
 * The error names the first directory that the user cannot enter; option ("--state"): what to change.
 * path is absolute.  A directory that does not exist ends the check. */
int way_check(const char *path, const char *option, unsigned uid, unsigned gid, struct cella_err *err);
