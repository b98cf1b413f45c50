/* audit/map.h -- running.map: the running executions, in a mapped file that survives the process.
 *
 * A slot is filled before it is marked as used, so a marked slot is complete whenever the process dies.
 * The file's content is not trusted at the next start: every length is checked.
 *
 * The blocks of the file are allocated when it is created: writing to a mapped hole on a full disk would
 * raise SIGBUS. Not thread-safe: the caller must serialise the calls. */
#pragma once
#include "audit/row.h"
#include "base/auto.h"
#include "cella.h"

#define MAP_SLOTS 1024

struct map;

/* Opens or creates the file.  Returns -EBUSY if another process uses it.  *ret_damaged is true if an
 * existing file was invalid or too short; it is reinitialised, and the executions that ran are unknown. */
int map_open(const char *directory, struct map **ret, bool *ret_damaged, struct cella_err *err);
struct map *map_close(struct map *map);
DEFINE_AUTO(struct map *, map_close)

/* Calls each() for every used slot with a record, which each() owns: running executions as interrupted,
 * ended ones with the data in the slot.  Stops if each() returns a negative value. */
int map_recover(struct map *map, int (*each)(void *context, struct record *record, bool interrupted),
                void *context);
/* Frees all slots. */
void map_clear(struct map *map);

int map_begin(struct map *map, const struct audit_begin *begin); /* returns a slot or -EAGAIN */
void map_end(struct map *map, int slot, const struct audit_end *end, int64_t finished_ms);
void map_release(struct map *map, int slot);

/* The last committed row: a database that ends before it has lost rows. */
uint64_t map_last_row(const struct map *map);
void map_set_last_row(struct map *map, uint64_t seq);
