/* cli/client/url.h -- the path and query of a request, everything foreign in it percent-encoded. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Room for the longest path of the kernel, each byte of it encoded. */
#define URL_SIZE 16384

struct url {
        char text[URL_SIZE];
        size_t len;
        bool query;    /* it has one already */
        bool too_long; /* something did not fit; a request with it is refused */
};

void url_init(struct url *u, const char *path);     /* as it is */
void url_add(struct url *u, const char *path);      /* as it is */
void url_add_part(struct url *u, const char *part); /* one segment, encoded */
void url_add_query(struct url *u, const char *name, const char *value);
