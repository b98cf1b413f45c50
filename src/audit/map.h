/* audit/map.h -- running.map: what runs now, in a mapped file, so that it outlives the process.
 *
 * A slot is filled and then marked, so that whenever the process dies a marked one is whole.  What
 * is found at the next start comes from a disk and is not trusted: every length is checked.
 *
 * The file's blocks are reserved when it is made: a mapped hole on a full disk would be SIGBUS.
 * Not locked: the caller sees to it that one thread at a time is here. */
#pragma once
#include "audit/row.h"

#define MAP_SLOTS 1024

struct map;

/* Opens or makes it.  -EBUSY: another process has it.  *ret_damaged: there was one that is not ours
 * or is cut short; it starts anew and what ran is not known. */
int map_open(const char *directory, struct map **ret, bool *ret_damaged, struct cella_err *err);
struct map *map_close(struct map *map);
DEFINE_AUTO(struct map *, map_close)

/* Calls each() with a record (its own from then on) for every slot in use: running ones as
 * interrupted, ended ones with what the slot knows.  Stops at a negative return. */
int map_recover(struct map *map, int (*each)(void *context, struct record *record, bool interrupted),
                void *context);
/* All slots free. */
void map_clear(struct map *map);

int map_begin(struct map *map, const struct audit_begin *begin); /* slot or -EAGAIN */
void map_end(struct map *map, int slot, const struct audit_end *end, int64_t finished_ms);
void map_release(struct map *map, int slot);

/* The last row that was committed: a database that ends before it has lost something. */
uint64_t map_last_row(const struct map *map);
void map_set_last_row(struct map *map, uint64_t seq);
