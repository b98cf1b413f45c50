/* front/tools/tools.h -- the tools for agents: one table, served over HTTP and MCP.
 *
 * The fields of a tool check and describe its arguments.  Its description tells the model what it can rely
 * on.  A call ends once, with a result or an error. */
#pragma once
#include <jansson.h>

#include "core/core.h"
#include "core/violation.h"
#include "schema/schema.h"

#define TOOL_IMAGES_MAX 16

enum {
        TOOL_READS = 1u << 0,      /* changes nothing */
        TOOL_DESTROYS = 1u << 1,   /* may destroy data */
        TOOL_REPEATABLE = 1u << 2, /* a second call has no further effect */
};

struct tool_call;

struct tool {
        const char *name;
        const char *title;
        const char *description; /* for a model */
        unsigned may;            /* enum capability; 0: any key */
        unsigned hints;
        const struct field *(*input)(void);
        const struct field *(*output)(void);
        void (*begin)(struct tool_call *call); /* see internal.h */
};

extern const struct tool tools[];
extern const size_t tools_len;

#define TOOL_COST 1.0 /* estimated cost of one call, for callers that have a budget */

/* Finds a tool by name.  A '.' may be written as '_', because some APIs allow no dots in names of
 * functions. */
const struct tool *tool_find(const char *name);
/* Return JSON Schemas as new references. */
json_t *tool_input_schema(const struct tool *tool);
json_t *tool_output_schema(const struct tool *tool);

struct tool_image {
        char *mime, *data; /* base64 */
};

struct tool_result {
        struct cella_err err; /* kind CELLA_OK: success */
        bool timeout;         /* the error is "timeout", which is not a cella_kind */
        char *json;           /* according to the tool's output fields; also with timeout: what there was */
        size_t len;
        char *text; /* the same for a model, shorter; NULL: json is short enough */
        size_t text_len;
        struct tool_image images[TOOL_IMAGES_MAX];
        unsigned n_images;
};

/* Returns "timeout", or the word for the kind of error. */
const char *tool_result_kind(const struct tool_result *result);

struct tool_events {
        /* Called with output as it arrives; the result contains it, too.  Both may be NULL. */
        void (*on_output)(void *context, enum cella_stream stream, const char *data, size_t len);
        void (*on_violation)(void *context, const struct violation *violation);
        /* Called once, last; the result is valid during the call only. */
        void (*on_end)(void *context, const struct tool_result *result);
};

struct tool_options {
        struct core *core;
        const struct caller *caller;
        bool for_model; /* results are shortened, see brief.h; images are in result.images, not in the JSON */
        const struct tool_events *events;
        void *context;
};

/* Checks the capability of the caller and the arguments, which it takes ownership of, and starts the call.
 * Events may be reported before this returns; returns NULL if the last one was. */
struct tool_call *tool_begin(const struct tool *tool, json_t *arguments, const struct tool_options *options);
/* Ends a call.  No event follows. */
void tool_cancel(struct tool_call *call);
