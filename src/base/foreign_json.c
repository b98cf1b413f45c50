#include "base/foreign_json.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static void (*report_no_memory)(void);

static void *allocate_or_abort(size_t size)
{
        void *memory = malloc(size);
        if (!memory) {
                if (report_no_memory)
                        report_no_memory();
                abort();
        }
        return memory;
}

static void wipe_and_free(void *memory)
{
        if (memory)
                explicit_bzero(memory, malloc_usable_size(memory));
        free(memory);
}

void foreign_json_init(void (*no_memory)(void))
{
        report_no_memory = no_memory;
        json_set_alloc_funcs(allocate_or_abort, wipe_and_free);
        json_object_seed(0); /* reads /dev/urandom */
}

/* Counts brackets, commas and colons outside of strings: an upper bound of the number of values.  Whether the
 * text is JSON at all is left to the parser. */
static int check_size(const char *text, size_t len, size_t values_max, struct cella_err *err)
{
        size_t depth = 0, values = 1;
        bool in_string = false;
        for (size_t i = 0; i < len; i++) {
                const char c = text[i];
                if (in_string && c == '\\')
                        i++;
                else if (c == '"')
                        in_string = !in_string;
                else if (!in_string && (c == '{' || c == '[')) {
                        values++;
                        if (++depth > FOREIGN_JSON_DEPTH_MAX)
                                return err_say(err, CELLA_TOO_LARGE, -E2BIG, "JSON deeper than %d",
                                               FOREIGN_JSON_DEPTH_MAX);
                } else if (!in_string && (c == '}' || c == ']') && depth > 0)
                        depth--;
                else if (!in_string && (c == ',' || c == ':'))
                        values++;
        }
        return values > values_max
                       ? err_say(err, CELLA_TOO_LARGE, -E2BIG, "JSON of more than %zu values", values_max)
                       : 0;
}

json_t *foreign_json_parse(const char *text, size_t len, size_t values_max, size_t flags,
                           struct cella_err *err)
{
        json_error_t where;
        const char *nul = len > 0 ? memchr(text, '\0', len) : NULL;
        if (nul) { /* jansson skips one after a number */
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "not JSON at byte %zu", (size_t)(nul - text));
                return NULL;
        }
        if (check_size(text, len, values_max, err) < 0)
                return NULL;
        json_t *value = json_loadb(text, len,
                                   flags | JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &where);
        if (value)
                return value;
        /* jansson's own message quotes the text, which is hostile. */
        const enum json_error_code code = json_error_code(&where);
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "not JSON at byte %d%s", where.position,
                code == json_error_duplicate_key      ? ": a key occurs twice"
                : code == json_error_numeric_overflow ? ": a number is too large"
                : code == json_error_invalid_utf8     ? ": a string is not UTF-8"
                                                      : "");
        return NULL;
}

const char *foreign_json_text(const json_t *value)
{
        const char *text = json_string_value(value);
        return text && strlen(text) == json_string_length(value) ? text : NULL;
}

const char *foreign_json_get_text(const json_t *object, const char *name)
{
        return foreign_json_text(json_object_get(object, name));
}

bool foreign_json_get_integer(const json_t *object, const char *name, int64_t *ret)
{
        const json_t *value = json_object_get(object, name);
        if (!json_is_integer(value))
                return false;
        *ret = json_integer_value(value);
        return true;
}

bool foreign_json_is_absent(const json_t *object, const char *name)
{
        const json_t *value = json_object_get(object, name);
        return !value || json_is_null(value);
}
