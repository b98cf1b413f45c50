/* core/settings/settings.h -- the settings of the daemon: one table checks, describes and completes
 * them. */
#pragma once
#include <jansson.h>

#include "cella.h"
#include "core/settings/words.h"
#include "scan/finding.h"
#include "schema/schema.h"

/* Maximum of kept output per stream and execution, because the server holds it in memory. */
#define OUTPUT_BYTES_MAX (8u * 1024 * 1024)

/* The findings for which scan.action "block" refuses code. */
struct scan_block {
        enum scan_severity severity; /* this one and higher ones */
        unsigned categories;         /* set of 1 << enum scan_category: of any severity */
};

struct settings {
        json_t *document; /* the complete document with defaults */
        /* Frequently used values; strings point into the document. */
        enum sandbox_mode mode;
        enum scan_action scan;
        struct scan_block block;
        enum engine_choice engine;
        enum sandbox_scope scope;
        enum workspace_access workspace;
        const char *workspace_root; /* NULL: none */
        const char *image;          /* of sandboxes without a requested image */
        enum tier tier;
        struct cella_limits limits;
        uint32_t sandboxes_max, kept_max;
        uint64_t idle_timeout_ms, cleanup_interval_ms, queue_timeout_ms, workspace_keep_ms;
        uint32_t queue_max;
        uint32_t spare;
        uint64_t packages_cache_bytes;
        uint64_t learning_bytes;
        const char *packages_index; /* NULL: that of pip */
        uint32_t audit_keep_days;
        uint64_t audit_keep_bytes;
        bool audit_keep_output;
        uint32_t mcp_text_bytes;
};

const struct field *settings_fields(void);
const struct field *limits_fields(void);
/* The limits of a request or a key: without defaults. */
const struct field *limits_bare_fields(void);

/* Takes the document, which must have been checked or come from schema_defaults(). */
int settings_from(json_t *document, struct settings *ret, struct cella_err *err);
void settings_done(struct settings *settings);

/* Copies the limits that `object` contains to *limits; adds their bits to *required.  The object must have
 * been checked.  NULL is allowed. */
void limits_overlay(const json_t *object, struct cella_limits *limits, uint32_t *required);
json_t *limits_to_json(const struct cella_limits *limits);
