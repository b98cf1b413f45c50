/* test/fuzz/target.c -- the target of a request: path and query. */
#include "http/target.h"
#include "fuzz.h"

static volatile size_t sum;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *uri = malloc(size + 1);
        memcpy(uri, data, size);
        uri[size] = '\0';
        struct target *target = target_new(uri);
        if (target) {
                if (target->n_segments > TARGET_SEGMENTS_MAX + 1 || target->n_query > TARGET_QUERY_MAX)
                        abort();
                sum += strlen(target->path);
                for (unsigned i = 0; i < target->n_segments; i++)
                        sum += strlen(target->segments[i]);
                for (unsigned i = 0; i < target->n_query; i++) {
                        const char *found = target_query(target, target->query[i].name);
                        if (!target->wrong && !found)
                                abort();
                        sum += strlen(target->query[i].name) + strlen(target->query[i].value);
                }
                target_query(target, "path");
        }
        free(target);
        free(uri);
        return 0;
}
