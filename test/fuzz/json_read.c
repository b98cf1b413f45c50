/* test/fuzz/json_read.c -- the JSON reader on any bytes: what it accepts can be walked through. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns how many values are in it; every string in it is UTF-8 with a NUL after it. */
static size_t walk(const struct json_value *v)
{
        size_t n = 1;
        if (v->type == JSON_STRING) {
                for (size_t i = 0, len; i < v->len; i += len)
                        if ((len = utf8_len(v->text + i, v->len - i)) == 0)
                                abort();
                if (v->text[v->len])
                        abort();
        }
        uint32_t members = 0;
        for (const struct json_value *e = json_first(v); e; e = json_next(v, e), members++) {
                n += walk(e);
                if (v->type == JSON_OBJECT) {
                        n += walk(e + 1);
                        if (!json_get(v, e->text) && strlen(e->text) == e->len)
                                abort();
                }
        }
        if (n != v->span || members != v->n)
                abort();
        return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct json_doc doc = {0};
        struct cella_err err;
        char *text = malloc(size ? size : 1);
        memcpy(text, data, size);
        if (json_read(text, size, 1000, &doc, &err) == 0 && walk(doc.values) != doc.n)
                abort();
        json_doc_done(&doc);
        free(text);
        return 0;
}
