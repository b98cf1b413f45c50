/* front/answers/answers.h -- the answers of the API: their fields, for /openapi.json.
 *
 * The code that writes an answer does not read these tables.  The tests of the API compare every answer that
 * they receive with its table: an unknown field, a missing one or another type fails them. */
#pragma once
#include "schema/schema.h"

/* A document with a name: a component of /openapi.json. */
struct kind {
        const char *name;
        const struct field *table;           /* its fields */
        const struct field *(*fields)(void); /* or what returns them; both NULL: any object */
        const char *example; /* JSON; fields that it lacks get simple values; NULL: only these */
};

/* An event of a stream, text/event-stream. */
struct event {
        const char *name; /* NULL: end of the list */
        const struct kind *data;
};

/* One status that a route answers with, unless it is an error. */
struct answer {
        int status; /* 0: end of the list */
        const char *about;
        const struct kind *kind, *other; /* JSON of this kind, or of the other one; NULL: none */
        const char *media;               /* also, or instead of JSON: bytes of this type; NULL: none */
        const struct event *events;      /* also: a stream of these events; NULL: none */
        const char *example;             /* of media; without media, or if kind has no fields: JSON */
};

/* run.c */
extern const struct kind kind_result, kind_end, kind_accepted, kind_running, kind_execution, kind_executions,
        kind_ended, kind_verdict, kind_process, kind_processes, kind_output, kind_taken, kind_context,
        kind_contexts, kind_summary;
extern const struct event run_events[], process_events[];
/* sandbox.c */
extern const struct kind kind_sandbox, kind_sandboxes, kind_stat, kind_directory, kind_path, kind_counters,
        kind_sandbox_row;
extern const struct event file_events[];
const struct field *answer_limits(void);
/* daemon.c */
extern const struct kind kind_ready, kind_health, kind_pools, kind_me, kind_keys, kind_new_key, kind_settings,
        kind_image, kind_images, kind_collected, kind_runtimes, kind_secret, kind_secrets, kind_secret_name,
        kind_tools, kind_functions, kind_any, kind_error;
extern const struct event pull_events[], watch_events[];

/* Tables below these, which have a name, too. */
extern const struct kind *const run_parts[], *const sandbox_parts[], *const daemon_parts[]; /* NULL: end */

#define R FIELD_REQUIRED
#define N (FIELD_REQUIRED | FIELD_NULLABLE)
