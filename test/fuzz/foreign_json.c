/* test/fuzz/foreign_json.c -- the JSON parser on any bytes: what it accepts is within its bounds, is UTF-8,
 * and is the same when it is written and parsed again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_json.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define VALUES_MAX 1000

static void check_text(const char *text, size_t len)
{
        for (size_t i = 0, n; i < len; i += n)
                if ((n = utf8_len(text + i, len - i)) == 0)
                        abort();
        if (text[len])
                abort();
}

/* Returns the number of values. */
static size_t walk(json_t *value, int depth)
{
        size_t n = 1, i;
        const char *name;
        json_t *v;
        if (depth > FOREIGN_JSON_DEPTH_MAX)
                abort();
        if (json_is_string(value))
                check_text(json_string_value(value), json_string_length(value));
        json_array_foreach (value, i, v)
                n += walk(v, depth + 1);
        json_object_foreach (value, name, v) {
                check_text(name, strlen(name));
                n += walk(v, depth + 1);
        }
        return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct cella_err err = {0};
        char *text = malloc(size ? size : 1);
        memcpy(text, data, size);
        json_t *value = foreign_json_parse(text, size, VALUES_MAX, 0, &err);
        free(text);
        if (!value) {
                if (!err.msg[0])
                        abort();
                return 0;
        }
        if (walk(value, 0) > VALUES_MAX)
                abort();
        char *written = json_dumps(value, JSON_ENCODE_ANY);
        json_t *again = written ? foreign_json_parse(written, strlen(written), SIZE_MAX, 0, &err) : NULL;
        if (!json_equal(value, again))
                abort();
        json_decref(again);
        free(written);
        json_decref(value);
        return 0;
}
