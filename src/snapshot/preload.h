/* snapshot/preload.h -- what the daemon's own pool of Python has imported, unless the settings say otherwise.
 *
 * What code that agents write begins with, as far as it costs one that prints a number nothing that could be
 * measured (doc/performance.md): typing takes two mappings more, and random gets new numbers in each process.
 */
#pragma once

#define PRELOAD_STANDARD                                                                                     \
        "[\"json\", \"re\", \"math\", \"datetime\", \"collections\", \"itertools\", \"functools\", "         \
        "\"string\", \"copy\"]"
