/* daemon/archive.h -- the file of a backup: a ustar archive of regular files, which `tar` can list, too.
 *
 * What is read is hostile: only what archive_put() writes is accepted. */
#pragma once
#include <stdint.h>

#include "cella.h"

#define ARCHIVE_NAME_SIZE 100
#define ARCHIVE_FILE_MAX ((UINT64_C(1) << 33) - 1) /* what 11 octal digits can say */

/* Adds the file `from`, from its beginning to its end.  It must not change. */
int archive_put(int to, const char *name, int from, struct cella_err *err);
int archive_end(int to, struct cella_err *err);

/* Reads the next header.  Returns 1, or 0 at the end of the archive. */
int archive_next(int from, char ret_name[ARCHIVE_NAME_SIZE], uint64_t *ret_size, struct cella_err *err);
/* Copies the content of that file. */
int archive_take(int from, uint64_t size, int to, struct cella_err *err);
