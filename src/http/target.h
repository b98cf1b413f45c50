/* http/target.h -- the target of a request: path segments and query, decoded.
 *
 * Split first, decoded then: %2F in a segment is a slash in its text, not another segment. */
#pragma once
#include <stddef.h>

#define TARGET_SEGMENTS_MAX 16
#define TARGET_QUERY_MAX 32

struct target {
        const char *path;      /* as it came, without the query */
        const char *wrong;     /* NULL, or why it is not taken (400) */
        const char *authority; /* of "http://host:port/path"; else NULL */
        unsigned n_segments;
        unsigned n_query;
        const char *segments[TARGET_SEGMENTS_MAX + 1]; /* one more than any route has */
        struct {
                const char *name, *value;
        } query[TARGET_QUERY_MAX];
        char text[];
};

/* NULL: no memory.  free()d by the caller. */
struct target *target_new(const char *uri);
const char *target_query(const struct target *target, const char *name);
