/* test/fuzz/schema.c -- bodies of requests against a table that has every type in it.
 *
 * Whatever comes: it is taken or refused with a message that can itself be shown as JSON; what is
 * taken is refused by no second look, and merging and filling it does no harm. */
#include "schema/schema.h"
#include "fuzz.h"

static const char *const words[] = {"off", "selective", "all", NULL};
static const struct field text = {NULL, FIELD_STRING, FIELD_NO_NUL, .max = 64};
static const struct field number = {NULL, FIELD_NUMBER, FIELD_NULLABLE, .min = -1000, .max = 1024000};
static const struct field list = {NULL, FIELD_ARRAY, .min = 1, .max = 4, .item = &number};
static const struct field any = {NULL, FIELD_ANY};
static const struct field limits[] = {
        {"memory_bytes", FIELD_INTEGER, .min = 4194304, .max = 1099511627776, .standard = "536870912"},
        {"cpus", FIELD_NUMBER, .min = 10, .max = 1024000, .standard = "1.0"},
        {"cpu_time_ms", FIELD_INTEGER, FIELD_NULLABLE, .min = 1, .standard = "null"},
        {NULL},
};
static const struct field tree[] = {
        {"next", FIELD_OBJECT, .fields = tree},
        {"nodes", FIELD_ARRAY, .item = &(const struct field){NULL, FIELD_OBJECT, .fields = tree}},
        {NULL},
};
static const struct field request[] = {
        {"runtime", FIELD_STRING, FIELD_NO_NUL, .min = 1, .max = 32},
        {"code", FIELD_STRING, .help = "What to run."},
        {"command", FIELD_ARRAY, .min = 1, .max = 64, .item = &text},
        {"env", FIELD_MAP, .max = 64, .item = &text},
        {"grid", FIELD_ARRAY, .item = &list},
        {"limits", FIELD_OBJECT, .fields = limits},
        {"mode", FIELD_WORD, .words = words, .standard = "\"all\""},
        {"detach", FIELD_BOOLEAN, .standard = "false"},
        {"metadata", FIELD_MAP, FIELD_NULLABLE, .item = &any},
        {"tree", FIELD_OBJECT, .fields = tree},
        {NULL},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        struct cella_err err = {0};
        json_t *document = NULL;
        if (schema_parse(request, (const char *)data, len, &document, &err) < 0) {
                json_t *message = json_stringn(err.msg, strlen(err.msg));
                json_t *hint = json_stringn(err.hint, strlen(err.hint));
                if (!message || !hint || !err.msg[0] || err.kind != CELLA_INVALID_REQUEST || document)
                        abort();
                json_decref(message);
                json_decref(hint);
                return 0;
        }
        json_t *merged = schema_merge(document, document), *filled = schema_fill(request, document);
        if (!merged || schema_check(request, document, "body", &err) < 0 ||
            schema_check(request, filled, "", &err) < 0)
                abort();
        json_decref(merged);
        json_decref(filled);
        json_decref(document);
        return 0;
}
