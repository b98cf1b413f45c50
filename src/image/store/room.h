/* image/store/room.h -- how much a store may have on the disk.
 *
 * The bound is a file of the store, max_bytes: whoever writes to the store obeys it, the daemon's process and
 * one of the command line alike.  Against it count the layers, each entry as LAYER_ENTRY bytes beside its
 * content (an inode, a block that is not full, a place in the directories of roots), and downloads.
 *
 * This process keeps one count of what is there and what is under way, so that jobs that run at the same time
 * do not each get what is left.  What another process does meanwhile is seen when a layer is put into the
 * store, with the lock `commit`.  Nothing is removed from a store while somebody writes to it. */
#pragma once
#include <stdint.h>

#include "cella.h"

/* 0: none.  -EINVAL if what is written there is no number. */
int room_bound(int store, uint64_t *ret, struct cella_err *err);
/* Writes it down; 0: there is none any more. */
int room_set_bound(int store, uint64_t bytes, struct cella_err *err);

/* A writer begins and ends.  *ret_max is the bound. */
int room_enter(int store, uint64_t *ret_max, struct cella_err *err);
void room_leave(void);

/* What nobody uses was removed, by the only one who writes: it has to be looked at again. */
void room_swept(void);

/* One more piece; nothing is counted if it does not fit within max (0: everything does). */
int room_take(uint64_t max, uint64_t bytes, struct cella_err *err);
void room_give(uint64_t bytes);

/* Would so many more fit? */
int room_check(uint64_t max, uint64_t bytes, struct cella_err *err);

int room_refuse(uint64_t max, struct cella_err *err);
