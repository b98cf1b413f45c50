/* core/pool/internal.h -- for the files of pools only: what one is, and its members. */
#pragma once
#include "core/pool/pool.h"
#include "core/pool/template.h"

#define RETRY_US INT64_C(60000000) /* a template that cannot be made */

struct pool {
        struct list link; /* in the box */
        struct box *box;
        char runtime[65];
        char image_name[256];
        struct used_image *image; /* what that means; NULL: host, or it means nothing: */
        bool no_image;            /* then problem says so */
        json_t *preload;
        struct cella_limits limits;
        unsigned size;
        bool network; /* its members have one */
        bool lasting; /* it is in the settings; else it goes when nobody wants it any more: */
        int64_t wanted_us;
        struct waiting_how how;
        struct template_maker *maker;
        struct cella_err problem;   /* why there is no template; kind CELLA_OK: none */
        int64_t retry_us;           /* when to try again to make one */
        int64_t not_before_us;      /* when to try again to make members */
        int64_t added_us;           /* when the last one was begun */
        unsigned failures, unlucky; /* in a row */
        struct list ready;          /* struct waiting, the oldest first */
        unsigned n_ready, n_making, n_in_use;
        uint64_t hits, misses;
        int64_t refill_us; /* of the last member, from asking for it to being ready */
};

/* Begins to make one more. */
int pool_add_member(struct pool *pool);
/* Ends one that nobody has taken. */
void pool_drop(struct waiting *waiting);
/* The same with all, those that are being made too. */
void pool_drop_members(struct pool *pool);
/* One could not be made: the next comes later. */
void pool_failed(struct pool *pool);
