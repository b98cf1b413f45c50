/* cli/run/guess.h -- what a file on the command line is: its runtime, and its place in the workspace. */
#pragma once
#include <stddef.h>

/* Finds the runtime of a file of the host or of the workspace (NULL: none), by its first line (#!) or its
 * extension.  Returns 0, -ENOENT if there is no such file, or -ENOEXEC if its runtime is unknown. */
int guess_runtime(const char *file, const char *workspace, char *ret, size_t size);

/* Sets *ret to the path inside the sandbox of a file in the workspace: one that lies there, or if there is no
 * such file on the host, one of this name below the workspace.  Returns 0 or -ENOENT.
 *
 * A workspace may have links that a sandbox has made: no file is opened through one that leaves it. */
int guess_inside(const char *file, const char *workspace, char *ret, size_t size);
