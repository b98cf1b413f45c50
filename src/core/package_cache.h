/* core/package_cache.h -- archives with the packages that callers have installed, so that another session of
 * the same key gets them without a download.
 *
 * An entry is an unlinked file in the state directory: it needs no name and no cleanup, and is gone after a
 * restart.  The setting packages.cache_bytes limits the size of all entries; the oldest go first. */
#pragma once
#include "core/core.h"

#define PACKAGE_CACHE_MAX 128                    /* entries: each needs a descriptor */
#define PACKAGE_CACHE_KEEP_MS (24 * 3600 * 1000) /* an entry does not hide new versions for longer */

/* Returns a new file, which the caller closes or passes to package_cache_add(); or -errno. */
int package_cache_file(const struct core *core);
/* Adds an entry, or replaces the one of this name.  Takes fd, also if the entry is too large to be kept. */
void package_cache_add(struct core *core, const char *name, int fd, uint64_t bytes);
/* Returns a descriptor of the entry, which the caller closes; or -ENOENT. */
int package_cache_find(struct core *core, const char *name);
/* Removes old entries, and more until the total size is at most max.  Call it regularly. */
void package_cache_trim(struct core *core, uint64_t max);
