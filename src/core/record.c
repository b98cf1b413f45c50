#include "core/record.h"

#include <stdlib.h>

#include "base/clock.h"
#include "core/about.h"
#include "core/violation.h"

static char text[AUDIT_ABOUT_MAX]; /* shared: one thread */

void record_end(struct core *core, int slot, struct audit_begin *begin, const struct about *about,
                const struct cella_result *r)
{
        char *violations = violations_text(r), runtime[ABOUT_NAME_SIZE];
        begin->runtime = about_runtime(about->request, runtime);
        begin->about = text;
        begin->about_len = about_write(about, text);
        const struct audit_end end = {
                .status = cella_status_name(r->status),
                .exit_code = r->exit_code,
                .signal = r->signal,
                .duration_us = r->duration_us,
                .cpu_us = r->cpu_us,
                .memory_peak_bytes = r->memory_peak_bytes,
                .processes_peak = r->processes_peak,
                .output = {r->output[0], r->output[1]},
                .output_len = {r->output_len[0], r->output_len[1]},
                .output_total = {r->output_total[0], r->output_total[1]},
                .violations = violations,
        };
        audit_end(core->audit, slot, begin, &end);
        if (core->watch.on_recorded)
                core->watch.on_recorded(begin, &end, core->watch.context);
        free(violations);
}

static void record_failed(struct core *core, int slot, struct audit_begin *begin, const struct about *about,
                          const char *status)
{
        const struct audit_end end = {.status = status};
        char runtime[ABOUT_NAME_SIZE];
        if (about->request)
                begin->runtime = about_runtime(about->request, runtime);
        begin->about = text;
        begin->about_len = about_write(about, text);
        audit_end(core->audit, slot, begin, &end);
        if (core->watch.on_recorded)
                core->watch.on_recorded(begin, &end, core->watch.context);
}

void record_refused(struct core *core, int slot, struct audit_begin *begin, const struct about *about)
{
        if (begin->input_len > REFUSALS_INPUT_MAX)
                begin->input_len = REFUSALS_INPUT_MAX;
        record_failed(core, slot, begin, about, "refused");
}

void record_lost(struct core *core, int slot, struct audit_begin *begin, const struct about *about)
{
        record_failed(core, slot, begin, about, "lost");
}

const struct metrics_minute *metrics_minute(const struct metrics *m, int64_t minute)
{
        const struct metrics_minute *at = &m->minutes[(uint64_t)minute % METRICS_MINUTES];
        return at->minute == minute && at->executions > 0 ? at : NULL;
}

static void record_minute(struct core *core, size_t bucket)
{
        int64_t now = core_now_ms() / 60000;
        struct metrics_minute *at = &core->metrics.minutes[(uint64_t)now % METRICS_MINUTES];
        if (at->minute != now)
                *at = (struct metrics_minute){.minute = now};
        at->executions++;
        at->latency[bucket]++;
        if (core->alive > at->alive)
                at->alive = core->alive;
}

void record_count(struct core *core, const struct cella_result *r)
{
        struct metrics *m = &core->metrics;
        size_t i = 0;
        m->executions[r->status]++;
        m->latency_sum_us += r->duration_us;
        while (i < METRICS_BUCKETS && r->duration_us > metrics_bounds_us[i])
                i++;
        m->latency[i]++;
        record_minute(core, i);
}

void refusal_record(struct core *core, const struct caller *caller, const struct exec_request *request,
                    const struct cella_err *err)
{
        char id[ID_SIZE];
        const char *who = caller->key[0] ? caller->key : caller->owner ? "owner" : "unknown";
        /* Without the secret values its texts cannot be masked. */
        if (request && json_object_size(request->secrets) > 0 && !request->grant)
                request = NULL;
        struct about about = {
                .request = request, .key_name = caller->name, .trace = caller->trace, .error = err};
        if (!refusals_take(&core->refusals, who, clock_us() / 1000 + 1, &about.unrecorded) ||
            id_make("exe_", id) < 0)
                return;
        struct audit_begin begin = {
                .id = id, .key = caller->key[0] ? caller->key : NULL, .started_ms = core_now_ms()};
        if (request) {
                begin.runtime = request->runtime;
                begin.session = request->session;
                begin.agent = request->agent;
                begin.input = request->log_input;
                begin.input_len = request->log_input_len;
        }
        record_refused(core, -1, &begin, &about);
}
