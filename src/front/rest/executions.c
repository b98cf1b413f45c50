/* front/rest/executions.c -- past executions from the log, and running ones from memory.
 *
 * The log is read on the thread pool: a query over a million rows must not block the loop, nor other users of
 * the pool (front/log_queue.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/context/context.h"
#include "core/execution/execution.h"
#include "front/log_queue.h"
#include "front/rest/log_filter.h"
#include "front/rest/rest.h"

#define SLICE_US 50000 /* of verifying, which looks at every row */

struct query {
        struct log_job job;
        struct call *call; /* NULL: the client is gone */
        struct api *api;
        enum { QUERY_LIST, QUERY_GET, QUERY_CANCELLED, QUERY_VERIFY } kind;
        char id[ID_SIZE];
        struct log_filter filter;
        struct audit_verifier *verifier;
        bool all; /* may see executions of other keys */
        json_t *result;
        struct cella_err err;
        int r;
};

/* Returns 1 if there is more to search; other jobs go first. */
static int verify_some(struct query *q)
{
        int r = q->verifier ? 0 : audit_verifier_new(q->api->core->directory, &q->verifier, &q->err);
        return r < 0 ? r : audit_verifier_continue(q->verifier, SLICE_US, &q->result, &q->err);
}

static void rest_executions_look(struct log_job *job)
{
        struct query *q = list_entry(job, struct query, job);
        uv_mutex_lock(&q->api->reader_lock);
        if (atomic_load(&q->api->ending)) {
                q->r = err_say(&q->err, CELLA_ENGINE_UNAVAILABLE, -ESHUTDOWN, "the daemon is shutting down");
                uv_mutex_unlock(&q->api->reader_lock);
                return;
        }
        audit_flush(q->api->core->audit); /* rows of executions that ended just now are still being written */
        switch (q->kind) {
        case QUERY_LIST:
                q->r = audit_list(q->api->reader, &q->filter.audit, &q->result, &q->err);
                break;
        case QUERY_GET:
        case QUERY_CANCELLED:
                q->r = audit_get(q->api->reader, q->id, &q->result, &q->err);
                break;
        case QUERY_VERIFY:
                q->r = verify_some(q);
                break;
        }
        uv_mutex_unlock(&q->api->reader_lock);
}

static bool is_hidden(const struct query *q)
{
        const char *key = json_string_value(json_object_get(q->result, "key"));
        return (q->kind == QUERY_GET || q->kind == QUERY_CANCELLED) && !q->all &&
               strcmp(key ? key : "", q->job.key) != 0;
}

static void query_free(struct query *q)
{
        audit_verifier_free(q->verifier);
        json_decref(q->result);
        free(q);
}

static void rest_executions_done(struct log_job *job, int status)
{
        struct query *q = list_entry(job, struct query, job);
        struct call *call = q->call;
        if (status < 0)
                q->r = err_say(&q->err, CELLA_INTERNAL, -EIO, "cannot start a query");
        if (call && q->r > 0) {
                log_queue_again(job);
                return;
        }
        if (call) {
                http_on_gone(call->request, NULL, NULL);
                if (q->r == -ENOENT || (q->r == 0 && is_hidden(q))) {
                        struct cella_err err = {0};
                        err_say(&err, CELLA_NOT_FOUND, -ENOENT, "no execution '%.40s'", q->id);
                        api_reply_err(call, &err);
                } else if (q->r < 0) {
                        api_reply_err(call, &q->err);
                } else if (q->kind == QUERY_CANCELLED) { /* it had ended already */
                        api_reply(call, 200,
                                  json_pack("{s:s, s:O}", "id", q->id, "status",
                                            json_object_get(q->result, "status")));
                } else {
                        api_reply(call, 200, json_incref(q->result));
                }
        }
        query_free(q);
}

static void rest_executions_on_gone(struct http_request *request, void *context)
{
        struct query *q = context;
        (void)request;
        q->call = NULL;
        if (log_queue_remove(&q->job))
                query_free(q);
}

static struct query *query_new(struct call *call, int kind)
{
        struct query *q = calloc(1, sizeof *q);
        struct cella_err err = {0};
        if (!q) {
                err_set(&err, CELLA_INTERNAL, -ENOMEM, "query");
                api_reply_err(call, &err);
                return NULL;
        }
        q->call = call;
        q->api = call->api;
        q->kind = kind;
        q->job.look = rest_executions_look;
        q->job.done = rest_executions_done;
        q->job.quick = kind == QUERY_GET || kind == QUERY_CANCELLED;
        q->all = call->caller.owner || (call->caller.capabilities & MAY_AUDIT);
        memcpy(q->job.key, call->caller.key, sizeof q->job.key);
        return q;
}

static void send_off(struct query *q)
{
        struct call *call = q->call;
        struct cella_err err = {0};
        executions_settle(q->api->core); /* an execution that was reported as ended must be found */
        http_on_gone(call->request, rest_executions_on_gone, q);
        if (log_queue_add(q->api, &q->job, &err) < 0) {
                http_on_gone(call->request, NULL, NULL);
                query_free(q);
                api_reply_err(call, &err);
        }
}

static bool is_or_any(const char *wanted, const char *have)
{
        return !wanted || (have && !strcmp(wanted, have));
}

static bool has_text(const struct query *q, const char *input)
{
        return !q->filter.audit.text || (input && strcasestr(input, q->filter.audit.text));
}

static bool is_wanted(const struct query *q, const struct execution *ex)
{
        const struct audit_filter *f = &q->filter.audit;
        return (q->all || !strcmp(ex->key, q->job.key)) && is_or_any(f->sandbox, ex->sandbox_id) &&
               is_or_any(f->session, ex->request.session) && is_or_any(f->agent, ex->request.agent) &&
               ex->started_ms >= f->since_ms && has_text(q, ex->request.log_input);
}

struct wanted {
        const struct query *query;
        json_t *list;
};

static void add_context_run(struct context_run *run, void *what)
{
        struct wanted *w = what;
        const struct audit_filter *f = &w->query->filter.audit;
        if ((w->query->all || !strcmp(run->key, w->query->job.key)) &&
            is_or_any(f->sandbox, run->sandbox_id) && !f->session && !f->agent &&
            run->started_ms >= f->since_ms && has_text(w->query, run->request.log_input))
                json_array_insert_new(w->list, 0, context_run_to_json(run));
}

static json_t *running_list(const struct call *call, const struct query *q)
{
        json_t *list = json_array();
        list_each (at, &call->core->executions, other) {
                struct execution *ex = list_entry(at, struct execution, link);
                if (is_wanted(q, ex))
                        json_array_insert_new(list, 0, execution_to_json(ex));
        }
        struct wanted wanted = {q, list};
        context_run_each(call->core, add_context_run, &wanted);
        return list;
}

void rest_execution_list(struct call *call, json_t *body)
{
        struct query *q = query_new(call, QUERY_LIST);
        (void)body;
        if (!q)
                return;
        struct cella_err err = {0};
        if (log_filter_read(call, true, &q->filter, &err) < 0) {
                free(q);
                api_reply_err(call, &err);
                return;
        }
        if (!q->all)
                q->filter.audit.key = q->job.key;
        if (!strcmp(q->filter.status, "running")) { /* they are not in the log yet */
                json_t *list = running_list(call, q);
                free(q);
                api_reply(call, 200, json_pack("{s:o, s:n}", "executions", list, "cursor"));
                return;
        }
        send_off(q);
}

static void rest_executions_look_up(struct call *call, int kind)
{
        struct query *q = query_new(call, kind);
        if (!q)
                return;
        snprintf(q->id, sizeof q->id, "%s", http_param(call->request, 0));
        send_off(q);
}

void rest_execution_get(struct call *call, json_t *body)
{
        struct execution *ex = execution_find(call->core, &call->caller, http_param(call->request, 0));
        struct context_run *run = context_run_find(call->core, &call->caller, http_param(call->request, 0));
        (void)body;
        if (ex || run)
                api_reply(call, 200, ex ? execution_to_json(ex) : context_run_to_json(run));
        else
                rest_executions_look_up(call, QUERY_GET);
}

void rest_execution_cancel(struct call *call, json_t *body)
{
        struct execution *ex = execution_find(call->core, &call->caller, http_param(call->request, 0));
        struct context_run *run = context_run_find(call->core, &call->caller, http_param(call->request, 0));
        (void)body;
        if (!ex && !run) {
                rest_executions_look_up(call, QUERY_CANCELLED);
                return;
        }
        if (!caller_sees(&call->caller, ex ? ex->key : run->key)) { /* "audit" allows only reading */
                struct cella_err err = {0};
                err_say(&err, CELLA_ACCESS_DENIED, -EACCES,
                        "access denied: the execution belongs to another key");
                api_reply_err(call, &err);
                return;
        }
        api_reply(call, 202, json_pack("{s:s, s:s}", "id", ex ? ex->id : run->id, "status", "cancelled"));
        if (ex)
                execution_cancel(ex);
        else
                context_run_cancel(run);
}

void rest_execution_verify(struct call *call, json_t *body)
{
        struct query *q = query_new(call, QUERY_VERIFY);
        (void)body;
        if (q)
                send_off(q);
}
