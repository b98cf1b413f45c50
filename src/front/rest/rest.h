/* front/rest/rest.h -- the handlers of the routes, grouped by file. */
#pragma once
#include "front/api.h"

/* exec.c */
void rest_exec(struct call *call, json_t *body);
void rest_sandbox_exec(struct call *call, json_t *body);
/* sandboxes.c */
void rest_sandbox_create(struct call *call, json_t *body);
void rest_pool_acquire(struct call *call, json_t *body);
const struct field *release_fields(void);
void rest_pool_release(struct call *call, json_t *body);
void rest_sandbox_list(struct call *call, json_t *body);
void rest_sandbox_get(struct call *call, json_t *body);
void rest_sandbox_delete(struct call *call, json_t *body);
void rest_sandbox_pause(struct call *call, json_t *body);
void rest_sandbox_resume(struct call *call, json_t *body);
void rest_sandbox_patch(struct call *call, json_t *body);
void rest_sandbox_keepalive(struct call *call, json_t *body);
const struct field *keepalive_fields(void);
json_t *rest_usage_json(const struct keeper_counted *counted);
/* processes.c */
void rest_process_start(struct call *call, json_t *body);
void rest_process_list(struct call *call, json_t *body);
void rest_process_get(struct call *call, json_t *body);
void rest_process_stdin(struct call *call, json_t *body);
void rest_process_signal(struct call *call, json_t *body);
void rest_process_output(struct call *call, json_t *body);
void rest_process_delete(struct call *call, json_t *body);
const struct field *signal_fields(void);
/* contexts.c */
void rest_context_create(struct call *call, json_t *body);
void rest_context_list(struct call *call, json_t *body);
void rest_context_get(struct call *call, json_t *body);
void rest_context_delete(struct call *call, json_t *body);
void rest_context_run(struct call *call, json_t *body);
void rest_context_interrupt(struct call *call, json_t *body);
void rest_context_restart(struct call *call, json_t *body);
const struct field *context_fields(void);
const struct field *context_run_fields(void);
/* files.c, files_stream.c */
void rest_files_get(struct call *call, json_t *body);
void rest_files_put(struct call *call, json_t *body);
void rest_files_delete(struct call *call, json_t *body);
void rest_files_mkdir(struct call *call, json_t *body);
void rest_files_move(struct call *call, json_t *body);
void rest_files_stat(struct call *call, json_t *body);
void rest_archive_get(struct call *call, json_t *body);
void rest_archive_put(struct call *call, json_t *body);
const struct field *mkdir_fields(void);
const struct field *move_fields(void);
const struct field *stat_fields(void);
/* events.c */
void rest_events(struct call *call, json_t *body);
struct events *events_free(struct events *events);
/* terminal.c */
void rest_terminal(struct call *call, json_t *body);
/* executions.c */
void rest_execution_list(struct call *call, json_t *body);
void rest_execution_get(struct call *call, json_t *body);
void rest_execution_cancel(struct call *call, json_t *body);
void rest_execution_verify(struct call *call, json_t *body);
/* images.c */
void rest_image_list(struct call *call, json_t *body);
void rest_image_get(struct call *call, json_t *body);
void rest_image_pull(struct call *call, json_t *body);
void rest_image_import(struct call *call, json_t *body);
void rest_image_remove(struct call *call, json_t *body);
void rest_image_collect(struct call *call, json_t *body);
const struct field *image_pull_fields(void);
json_t *rest_images_json(const struct core *core); /* for /v1/health */
/* terminal.c: closes the terminals of removed keys.  True if there are any terminals. */
bool rest_terminals_guard(struct api *api);
/* runtimes.c */
void rest_runtimes(struct call *call, json_t *body);
/* secrets.c */
void rest_secret_list(struct call *call, json_t *body);
void rest_secret_get(struct call *call, json_t *body);
void rest_secret_put(struct call *call, json_t *body);
void rest_secret_remove(struct call *call, json_t *body);
const struct field *secret_fields(void);
/* health.c, metrics.c */
void rest_healthz(struct call *call, json_t *body);
void rest_health(struct call *call, json_t *body);
/* Returns the health as this caller may see it: with the counters of the daemon, or only with its own
 * sandboxes. */
json_t *rest_health_json(const struct core *core, const struct caller *caller);
void rest_metrics(struct call *call, json_t *body);
/* settings.c */
void rest_settings_get(struct call *call, json_t *body);
void rest_settings_put(struct call *call, json_t *body);
void rest_settings_patch(struct call *call, json_t *body);
/* admin.c */
void rest_me(struct call *call, json_t *body);
void rest_key_list(struct call *call, json_t *body);
void rest_key_add(struct call *call, json_t *body);
void rest_key_remove(struct call *call, json_t *body);
void rest_pools(struct call *call, json_t *body);
void rest_openapi(struct call *call, json_t *body);
