/* http/target.h -- the target of a request: decoded path segments and query.
 *
 * The path is split before it is decoded: %2F in a segment is a slash in its text and does not separate
 * segments. */
#pragma once
#include <stddef.h>

#define TARGET_SEGMENTS_MAX 16
#define TARGET_QUERY_MAX 32

struct target {
        const char *path;      /* undecoded, without the query */
        const char *wrong;     /* NULL, or the reason for a refusal (400) */
        const char *authority; /* of "http://host:port/path"; otherwise NULL */
        unsigned n_segments;
        unsigned n_query;
        const char *segments[TARGET_SEGMENTS_MAX + 1]; /* one more than any route has */
        struct {
                const char *name, *value;
        } query[TARGET_QUERY_MAX];
        char text[];
};

/* Returns NULL if there is no memory.  The caller frees it with free(). */
struct target *target_new(const char *uri);
const char *target_query(const struct target *target, const char *name);
