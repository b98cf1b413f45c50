/* http/router.h -- finds the route of a path in a tree of path segments, which is built once. */
#pragma once
#include <stdint.h>

#include "http/http.h"

#define ROUTER_SEGMENTS_MAX 16

struct router;

int router_new(const struct http_route *routes, size_t n_routes, struct router **ret, struct cella_err *err);
struct router *router_free(struct router *router);

/* segments are decoded.  A literal segment has precedence over {}.  params is set to the segments that
 * match {}. Returns NULL if no route has this path and method; *ret_allowed then has a bit (1 << method)
 * for each method that the path supports. */
const struct http_route *router_find(const struct router *router, const char *const *segments,
                                     unsigned n_segments, enum http_method method,
                                     const char *params[HTTP_PARAMS_MAX], unsigned *ret_allowed);
