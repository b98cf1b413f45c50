/* cli/run/guess.h -- what a file on the command line is: its runtime, and its place in the workspace. */
#pragma once
#include <stddef.h>

/* Finds the runtime of a file of the host or of the workspace (NULL: none), by its first line (#!) or its
 * extension.  Returns 0, -ENOENT if there is no such file, -ENOEXEC if its runtime is unknown, or -EXDEV. */
int guess_runtime(const char *file, const char *workspace, char *ret, size_t size);

/* Sets *ret to the path inside the sandbox of a file in the workspace: one that lies there, or if there is no
 * such file on the host, one of this name below the workspace.  Returns 0, -ENOENT, or -EXDEV if the path
 * leads into the workspace, but not to a regular file in it.
 *
 * A workspace may have links that a sandbox has made: no file is opened through one that leaves it.  After
 * -EXDEV the caller must not open the file, either: the link would choose a file of the host. */
int guess_inside(const char *file, const char *workspace, char *ret, size_t size);
