/* core/settings/settings.h -- the settings (INTERFACE section 7): one table checks, describes and fills them
 * in. */
#pragma once
#include <jansson.h>

#include "cella.h"
#include "core/settings/words.h"
#include "schema/schema.h"

/* Most that one execution may keep of each stream, whatever the limits say: the server holds it. */
#define OUTPUT_BYTES_MAX (8u * 1024 * 1024)

struct settings {
        json_t *document; /* all of it, defaults filled in */
        /* What is looked at often; strings point into the document. */
        enum sandbox_mode mode;
        enum scan_action scan;
        enum engine_choice engine;
        enum sandbox_scope scope;
        enum workspace_access workspace;
        const char *workspace_root; /* NULL: none */
        const char *image;          /* of sandboxes that ask for none */
        enum tier tier;
        struct cella_limits limits;
        uint32_t sandboxes_max;
        uint64_t idle_timeout_ms, cleanup_interval_ms, queue_timeout_ms, workspace_keep_ms;
        uint32_t queue_max;
        uint32_t spare;
        uint32_t audit_keep_days;
        uint64_t audit_keep_bytes;
        bool audit_keep_output;
};

const struct field *settings_fields(void);
const struct field *limits_fields(void);
/* The limits of a request or a key: what is not given stays so. */
const struct field *limits_bare_fields(void);

/* Takes the document, which must have been checked or come from schema_defaults(). */
int settings_from(json_t *document, struct settings *ret, struct cella_err *err);
void settings_done(struct settings *settings);

/* Lays the limits that `object` names over *limits; *required gets the bits of those named.
 * The object was checked.  NULL is fine. */
void limits_overlay(const json_t *object, struct cella_limits *limits, uint32_t *required);
json_t *limits_to_json(const struct cella_limits *limits);
