/* core/request/synonyms.h -- names of other systems for fields of requests.
 *
 * A request may use them in place of our own: they are checked under the name that the client used, and then
 * replaced by the field that they mean.  A request cannot have both. */
#pragma once
#include "schema/schema.h"

int synonym_check_directory(const json_t *value, const char *path, struct cella_err *err);
int synonym_check_size(const json_t *value, const char *path, struct cella_err *err);

/* Rows of tables: for requests that run code; for those and for requests that make a sandbox. */
#define SYNONYM_LANGUAGE_FIELD                                                                               \
        {                                                                                                    \
                .name = "language", .type = FIELD_STRING, .flags = FIELD_NO_NUL, .min = 1, .max = 64,        \
                .help = "another name of runtime"                                                            \
        }
#define SYNONYM_TIMEOUT_FIELD                                                                                \
        {                                                                                                    \
                .name = "timeout_seconds", .type = FIELD_NUMBER, .min = 1, .max = 7 * INT64_C(86400000),     \
                .help = "limits.timeout_ms in seconds"                                                       \
        }
#define SYNONYM_RUN_FIELDS                                                                                   \
        SYNONYM_LANGUAGE_FIELD,                                                                              \
        {                                                                                                    \
                .name = "work_dir", .type = FIELD_STRING, .flags = FIELD_NO_NUL, .min = 1, .max = 4095,      \
                .check = synonym_check_directory, .help = "another name of cwd"                              \
        }
#define SYNONYM_LIMIT_FIELDS                                                                                 \
        SYNONYM_TIMEOUT_FIELD,                                                                               \
                {.name = "max_memory_mb",                                                                    \
                 .type = FIELD_INTEGER,                                                                      \
                 .min = 4,                                                                                   \
                 .max = 1048576,                                                                             \
                 .help = "limits.memory_bytes in MiB"},                                                      \
                {.name = "memory_limit",                                                                     \
                 .type = FIELD_STRING,                                                                       \
                 .flags = FIELD_NO_NUL,                                                                      \
                 .min = 1,                                                                                   \
                 .max = 32,                                                                                  \
                 .check = synonym_check_size,                                                                \
                 .help = "limits.memory_bytes as text: 512m, 1g"},                                           \
                {.name = "cpu_limit",                                                                        \
                 .type = FIELD_NUMBER,                                                                       \
                 .min = 10,                                                                                  \
                 .max = 1024000,                                                                             \
                 .help = "another name of limits.cpus"},                                                     \
        {                                                                                                    \
                .name = "network_enabled", .type = FIELD_BOOLEAN, .help = "another name of network.enabled"  \
        }

/* Replaces the synonyms of a document that was checked by a table with these rows. */
int synonyms_apply(json_t *document, struct cella_err *err);
/* Checks and replaces the synonyms among the arguments of a tool, before its own table checks them.  Those
 * that mean nothing to this tool stay, and its table refuses them. */
int synonyms_apply_tool(const struct field *fields, json_t *arguments, struct cella_err *err);
