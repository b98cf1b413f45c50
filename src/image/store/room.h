/* image/store/room.h -- the maximum size of the store on the disk.
 *
 * The bound is in a file of the store, max_bytes: all writers obey it, in the daemon and on the command line.
 * It applies to layers, where each entry counts as LAYER_ENTRY bytes in addition to its content (an inode, a
 * partial block, a place in the directories of roots), and to downloads.
 *
 * This process keeps one count of stored and reserved bytes, so that concurrent jobs do not use the same free
 * space twice.  Changes by other processes are seen when a layer is added to the store, with the lock
 * `commit`.  Nothing is removed from a store while another process writes to it. */
#pragma once
#include <stdint.h>

#include "cella.h"

/* Reads the bound; 0: none.  -EINVAL if the file does not contain a number. */
int room_bound(int store, uint64_t *ret, struct cella_err *err);
/* Writes the bound; 0: removes it. */
int room_set_bound(int store, uint64_t bytes, struct cella_err *err);

/* Called when a writer begins and ends.  *ret_max is the bound. */
int room_enter(int store, uint64_t *ret_max, struct cella_err *err);
void room_leave(void);

/* Called after the only writer has removed unused objects: the size is determined again. */
void room_swept(void);

/* Reserves bytes; if they do not fit within max (0: no maximum), nothing is reserved. */
int room_take(uint64_t max, uint64_t bytes, struct cella_err *err);
void room_give(uint64_t bytes);

/* Checks whether this number of bytes would fit. */
int room_check(uint64_t max, uint64_t bytes, struct cella_err *err);

int room_refuse(uint64_t max, struct cella_err *err);
