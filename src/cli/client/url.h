/* cli/client/url.h -- the path and query of a request; all variable parts are percent-encoded. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Enough for the longest path of the kernel, with each byte encoded. */
#define URL_SIZE 16384

struct url {
        char text[URL_SIZE];
        size_t len;
        bool query;    /* it has a query */
        bool too_long; /* a part did not fit; the request fails */
};

void url_init(struct url *u, const char *path);     /* not encoded */
void url_add(struct url *u, const char *path);      /* not encoded */
void url_add_part(struct url *u, const char *part); /* one segment, encoded */
void url_add_query(struct url *u, const char *name, const char *value);
