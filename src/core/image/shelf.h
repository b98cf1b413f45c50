/* core/image/shelf.h -- the list of images, for whoever asks: read again when the store has changed. */
#pragma once
#include "image/store/store.h"

struct image_shelf {
        struct image **images; /* brief, see image_list_brief(); the newest first */
        size_t n;
        int64_t stamp; /* of the store, when it was read */
        bool settled;  /* a change since then would show */
};

/* *images are as the store is now, until the next call. */
int image_shelf_read(struct image_shelf *shelf, const char *store, struct cella_err *err);
void image_shelf_done(struct image_shelf *shelf);
