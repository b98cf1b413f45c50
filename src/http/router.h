/* http/router.h -- which route a path belongs to: a tree of path segments, made once. */
#pragma once
#include <stdint.h>

#include "http/http.h"

#define ROUTER_SEGMENTS_MAX 16

struct router;

int router_new(const struct http_route *routes, size_t n_routes, struct router **ret, struct cella_err *err);
struct router *router_free(struct router *router);

/* segments are decoded already.  A literal goes before {}.  params gets the segments that {} stood
 * for.  NULL if no route has this path and method; then *ret_allowed has a bit (1 << method) for
 * each that this path would take. */
const struct http_route *router_find(const struct router *router, const char *const *segments,
                                     unsigned n_segments, enum http_method method,
                                     const char *params[HTTP_PARAMS_MAX], unsigned *ret_allowed);
