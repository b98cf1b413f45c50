/* snapshot/preload.h -- the default preload list of the daemon's Python pool.
 *
 * It has the modules that agents' code usually imports first, as far as they have no measurable cost for
 * code that does not use them (doc/performance.md): typing needs two more mappings, and random needs new
 * numbers in each process. */
#pragma once

#define PRELOAD_STANDARD                                                                                     \
        "[\"json\", \"re\", \"math\", \"datetime\", \"collections\", \"itertools\", \"functools\", "         \
        "\"string\", \"copy\"]"
