/* core/execution/end.c -- the end of an execution: counters, file list, result, and the work after the
 * answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/execution/internal.h"
#include "core/pool/learned.h"
#include "core/pool/pool.h"
#include "core/record.h"
#include "core/request/scan_job.h"
#include "engine/files.h"
#include "engine/hint.h"

#define EARLY_US 5000 /* older counters say nothing about the end */

struct audit_begin execution_log(const struct execution *ex)
{
        return (struct audit_begin){
                .id = ex->id,
                .sandbox = ex->sandbox_id,
                .runtime = ex->request.runtime,
                .key = ex->key[0] ? ex->key : NULL,
                .session = ex->request.session,
                .agent = ex->request.agent,
                .input = ex->request.log_input,
                .input_len = ex->request.log_input_len,
                .started_ms = ex->started_ms,
        };
}

struct about execution_about(const struct execution *ex)
{
        return (struct about){.request = &ex->request,
                              .key_name = ex->key_name,
                              .image = ex->image_name,
                              .engine = ex->engine,
                              .tier = ex->tier,
                              .error = ex->failure.kind ? &ex->failure : NULL};
}

/* ---- work after the answer ---- */

/* Logs a failed execution, which usually has not run.  The number of such rows is limited, see refusal.h. */
static void record_failure(struct execution *ex)
{
        struct audit_begin begin = execution_log(ex);
        struct about about = execution_about(ex);
        if (ex->maybe_ran)
                record_lost(ex->core, ex->audit_slot, &begin, &about);
        else if (refusals_take(&ex->core->refusals, ex->key[0] ? ex->key : "owner", clock_us() / 1000 + 1,
                               &about.unrecorded))
                record_refused(ex->core, ex->audit_slot, &begin, &about);
        else
                audit_cancel(ex->core->audit, ex->audit_slot);
}

/* Does the work that no client waits for: writes the log and removes a sandbox of its own. */
static void execution_settle(struct execution *ex)
{
        list_remove(&ex->link);
        if (ex->failure.kind) {
                record_failure(ex);
        } else if (ex->logged) {
                const struct about about = execution_about(ex);
                struct audit_begin begin = execution_log(ex);
                record_end(ex->core, ex->audit_slot, &begin, &about, &ex->result);
                learned_count(ex->core, ex->key, ex->image_name, &ex->request);
        }
        if (ex->leaves)
                sandbox_remove(ex->leaves);
        execution_unref(ex);
}

void executions_settle(struct core *core)
{
        if (list_empty(&core->settling))
                return;
        while (!list_empty(&core->settling))
                execution_settle(list_entry(core->settling.next, struct execution, link));
        pools_refill(core);
        execution_spare_pipes();
}

void executions_forget_sandbox(const struct core_sandbox *sb)
{
        list_each (at, &sb->core->settling, other) {
                struct execution *ex = list_entry(at, struct execution, link);
                if (ex->leaves == sb)
                        ex->leaves = NULL;
        }
}

/* The answer is sent at the end of the loop iteration; the remaining work follows (core.c). */
static void execution_finish(struct execution *ex)
{
        struct core_sandbox *sb = ex->task.sandbox;
        if (execution_is_done(ex))
                return;
        ex->results_truncated |= ex->pictures != NULL;
        ex->pictures = pictures_free(ex->pictures);
        sandbox_ask_forget(ex->core, ex);
        /* execution_counted() continues.  A cancelled execution does not wait for the scan. */
        if (ex->observer.counting || (ex->scan && !ex->failure.kind && ex->facts.ending != END_CANCELLED)) {
                execution_clock_stop(ex);
                if (ex->phase == EXECUTION_ENDED)
                        execution_set_phase(ex, EXECUTION_FINISHING);
                return;
        }
        scan_job_cancel(ex->scan);
        ex->scan = NULL;
        if (!ex->failure.kind) {
                observer_conclude(&ex->observer, &ex->facts, &ex->limits);
                hint_of_module(ex->result.output[CELLA_STDERR], ex->result.output_len[CELLA_STDERR],
                               &ex->result);
        }
        observer_leave(&ex->observer);
        execution_set_phase(ex, EXECUTION_DONE);
        ex->process.ended = true;
        if (sb) {
                if (ex->tag && sb->channel)
                        channel_forget(sb->channel, ex->tag);
                if (ex->put_tag && ex->put_tag != ex->tag && sb->channel)
                        channel_forget(sb->channel, ex->put_tag);
                execution_release_slot(ex, sb);
                sandbox_detach(&ex->task);
        }
        execution_close_io(ex);
        execution_clock_done(ex);
        list_remove(&ex->link);
        if (ex->events && ex->events->on_end)
                ex->events->on_end(ex, ex->context);
        list_each (at, &ex->followers, other)
                list_entry(at, struct follower, link)->on_more(list_entry(at, struct follower, link));
        if (!ex->failure.kind)
                record_count(ex->core, &ex->result);
        ex->leaves = sb && sb->one_shot ? sb : NULL;
        list_add(&ex->core->settling, &ex->link);
}

void execution_fail(struct execution *ex, const struct cella_err *err)
{
        struct mask *mask = exec_request_mask(&ex->request);
        ex->failure = *err;
        mask_string(mask, ex->failure.msg);
        mask_string(mask, ex->failure.hint);
        execution_finish(ex);
}

void execution_counted(struct observer *observer)
{
        struct execution *ex = list_entry(observer, struct execution, observer);
        if (ex->phase == EXECUTION_FINISHING)
                execution_finish(ex);
}

static void fill_result(struct execution *ex)
{
        struct cella_result *r = &ex->result;
        r->duration_us = ex->started_us ? (uint64_t)(ex->ended_us - ex->started_us) : 0;
        verdict(&ex->facts, r);
        memcpy(r->id, ex->id, sizeof r->id);
        memcpy(r->sandbox, ex->sandbox_id, sizeof r->sandbox);
        for (int i = 0; i < 2; i++) {
                const bool truncated = ex->kind == EXECUTION_PLAIN && keep_truncated(&ex->out[i].keep);
                verdict_take_output(r, (enum cella_stream)i, &ex->out[i].keep, ex->out[i].total, truncated);
        }
}

/* Whether the sandbox's CPU counter is used.  It includes making the sandbox and a waiting interpreter; for
 * these, init reports the CPU time of the code alone. */
static bool wants_cpu(const struct execution *ex, const struct core_sandbox *sb)
{
        return sb->one_shot && !(ex->control >= 0 && ex->facts.reported);
}

/* In a sandbox with several executions, a peak is known only if it rose during this one; otherwise init's
 * figure is used. */
static void use_counters(struct execution *ex, const struct core_sandbox *sb,
                         const struct keeper_counted *now)
{
        verdict_count(&ex->facts, &ex->before, execution_cpu_before_us(ex, sb), now);
        ex->facts.usage.cpu_known &= wants_cpu(ex, sb);
}

static void keep_file(struct execution *ex, const char *data, size_t len)
{
        struct cella_result *r = &ex->result;
        if (files_keep(r, data, len) < 0)
                return;
        const struct cella_file *last = &r->files[r->n_files - 1];
        char *path = (char *)last->path;
        size_t text_len;
        execution_text(ex, &text_len);
        if (!strcmp(path, ex->script) && last->bytes == text_len) {
                free(path); /* the unchanged file with the code */
                r->n_files--;
        } else {
                mask_string(exec_request_mask(&ex->request), path);
        }
}

/* ---- pictures ---- */

static void on_picture(void *context, char *json, size_t len)
{
        execution_add_result(context, json, len);
}

static void on_pictures(void *context, bool left_out)
{
        struct execution *ex = context;
        ex->pictures = pictures_free(ex->pictures);
        ex->results_truncated |= left_out;
        execution_finish(ex);
}

/* In a sandbox of its own, init works now, not the code. */
static void unthrottle(struct core_sandbox *sb)
{
        if (sb->throttled && sb->one_shot)
                sandbox_ask(sb, KEEPER_UNTHROTTLE, NULL, NULL);
}

/* Reads the pictures among the changed files if they are wanted and init still runs; otherwise finishes. */
static void read_or_finish(struct execution *ex)
{
        static const struct pictures_events events = {on_picture, on_pictures};
        struct core_sandbox *sb = ex->task.sandbox;
        if (ex->request.rich && sb && sandbox_takes_messages(sb)) {
                ex->pictures = pictures_new(sb, ex->result.files, ex->result.n_files,
                                            exec_request_mask(&ex->request), &events, ex);
                if (ex->pictures) {
                        unthrottle(sb);
                        execution_clock_read(ex);
                        return;
                }
        }
        execution_finish(ex);
}

/* ---- the list of files ---- */

/* Handles the file list that init sends without a request. */
void execution_receive_file(struct execution *ex, const struct message *m, const char *data)
{
        uint32_t incomplete = 1;
        if (ex->file_list == LIST_ON_REQUEST)
                return;
        if (m->type == INIT_FILE) {
                keep_file(ex, data, m->len);
                return;
        }
        if (m->len == sizeof incomplete)
                memcpy(&incomplete, data, sizeof incomplete);
        ex->result.files_truncated = incomplete != 0;
        ex->file_list = LIST_RECEIVED;
}

static void on_listed(void *context, const struct message *message, const char *data)
{
        struct execution *ex = context;
        struct message m = *message;
        uint32_t incomplete = 1;
        message_close_fds(&m);
        if (m.type == INIT_FILE) {
                keep_file(ex, data, m.len);
                return;
        }
        if (m.type == INIT_DONE && m.len == sizeof incomplete)
                memcpy(&incomplete, data, sizeof incomplete);
        ex->result.files_truncated = incomplete != 0;
        read_or_finish(ex);
}

void execution_list_given_up(struct execution *ex)
{
        ex->result.files_truncated |= !ex->pictures; /* execution_finish() sets results_truncated */
        execution_finish(ex);
}

bool execution_had_nothing(const struct execution *ex)
{
        const struct core_sandbox *sb = ex->task.sandbox;
        return sb->one_shot && sb->workspace == WORKSPACE_NONE && ex->request.n_files == 0;
}

/* Requests the list of changed files if it is wanted and init still runs; otherwise finishes. */
static void list_or_finish(struct execution *ex)
{
        struct core_sandbox *sb = ex->task.sandbox;
        if (!ex->request.list_files || ex->file_list == LIST_RECEIVED || !sb || !sandbox_takes_messages(sb)) {
                read_or_finish(ex);
                return;
        }
        const struct init_list list = {
                .since_ns = (uint64_t)ex->since.tv_sec * 1000000000u + (uint64_t)ex->since.tv_nsec,
                .all_added = execution_had_nothing(ex),
        };
        channel_forget(sb->channel, ex->tag);
        ex->tag = channel_open_tag(sb->channel, on_listed, ex);
        unthrottle(sb);
        execution_clock_list(ex);
        if (channel_send(sb->channel, INIT_LIST, ex->tag, NULL, 0, &list, sizeof list, NULL, 0) < 0)
                execution_list_given_up(ex);
}

static void execution_on_counted(void *context, const union keeper_packet *packet, int fd)
{
        struct execution *ex = context;
        (void)fd;
        if (packet->type == KEEPER_COUNTED && ex->task.sandbox)
                use_counters(ex, ex->task.sandbox, &packet->counted);
        fill_result(ex);
        list_or_finish(ex);
}

static void on_early(void *context, const union keeper_packet *packet, int fd)
{
        struct execution *ex = context;
        if (ex->early_count == EARLY_AWAITED) {
                execution_on_counted(ex, packet, fd);
        } else if (ex->early_count == EARLY_REQUESTED && packet->type == KEEPER_COUNTED) {
                ex->early = packet->counted;
                ex->early_count = EARLY_RECEIVED;
        }
}

void execution_output_ended(struct execution *ex)
{
        struct core_sandbox *sb = ex->task.sandbox;
        if (ex->phase != EXECUTION_RUNNING || ex->early_count != EARLY_NONE || !sb || !sb->one_shot ||
            !sb->counted || !sandbox_takes_messages(sb) || sb->has_files)
                return;
        if (sandbox_count(sb, on_early, ex) < 0)
                return;
        ex->early_us = clock_us();
        ex->early_count = EARLY_REQUESTED;
}

/* Uses counters that need no further request: read directly from files that the keeper lent, or requested
 * when the output ended.  on_early() continues if these have not arrived.  Returns false if new ones are
 * needed. */
static bool counted_already(struct execution *ex, const struct core_sandbox *sb)
{
        struct keeper_counted now;
        if (sandbox_counted(sb, wants_cpu(ex, sb), &now)) {
                use_counters(ex, sb, &now);
                fill_result(ex);
                list_or_finish(ex);
                return true;
        }
        /* The cause of a failure may have happened since.  After a successful end only a peak can be
         * missed. */
        if (ex->early_count == EARLY_NONE || clock_us() - ex->early_us > EARLY_US ||
            ex->facts.exited.wait_status != 0)
                return false;
        if (ex->early_count == EARLY_REQUESTED) {
                ex->early_count = EARLY_AWAITED;
        } else {
                use_counters(ex, sb, &ex->early);
                fill_result(ex);
                list_or_finish(ex);
        }
        return true;
}

void execution_over(struct execution *ex)
{
        struct core_sandbox *sb = ex->task.sandbox;
        if (ex->phase >= EXECUTION_ENDED)
                return;
        execution_set_phase(ex, EXECUTION_ENDED);
        ex->ended_us = clock_us();
        execution_clock_stop(ex);
        execution_drain(ex);
        if (sb) /* in parallel with the keeper's counters */
                egress_end(&sb->egress, &ex->observer);
        if (sb && sb->counted && counted_already(ex, sb))
                return;
        if (sb && sb->counted && sandbox_count(sb, execution_on_counted, ex) == 0)
                return;
        fill_result(ex);
        list_or_finish(ex);
}

/* Finishes an execution that has not started, or has nothing left to wait for. */
void execution_conclude(struct execution *ex)
{
        execution_clock_stop(ex);
        fill_result(ex);
        execution_finish(ex);
}

void execution_lost(struct task *task, struct core_sandbox *sb, const struct cella_err *err)
{
        struct execution *ex = list_entry(task, struct execution, task);
        struct cella_err gone = {0};
        observer_leave(&ex->observer);
        if (ex->phase >= EXECUTION_ENDED) { /* the result is being collected */
                if (!ex->result.id[0])
                        fill_result(ex);
                if (!ex->pictures)
                        ex->result.files_truncated = ex->request.list_files;
                execution_finish(ex);
                return;
        }
        if (execution_start_elsewhere(ex, sb))
                return;
        if (ex->facts.ending == END_BY_ITSELF && (ex->phase < EXECUTION_RUNNING || err)) {
                ex->maybe_ran = ex->logged && ex->phase == EXECUTION_RUNNING && sb->ready;
                err_say(&gone, CELLA_NOT_FOUND, -ENOENT, "the sandbox %s has ended", ex->sandbox_id);
                execution_fail(ex, err ? err : &gone);
                return;
        }
        if (sb->removing)
                verdict_end(&ex->facts, END_CANCELLED);
        execution_set_phase(ex, EXECUTION_ENDED);
        ex->ended_us = clock_us();
        execution_clock_stop(ex);
        execution_drain(ex);
        egress_end(&sb->egress, &ex->observer);
        use_counters(ex, sb, &sb->counters);
        fill_result(ex);
        execution_finish(ex);
}
