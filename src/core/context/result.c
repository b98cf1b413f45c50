/* core/context/result.c -- reports a run in a context: its result, its row in the log, the metrics. */
#include <string.h>

#include "base/clock.h"
#include "core/about.h"
#include "core/context/internal.h"
#include "core/pool/learned.h"
#include "core/record.h"
#include "engine/hint.h"
#include "engine/result.h"

struct audit_begin context_run_log(const struct context_run *run)
{
        return (struct audit_begin){
                .id = run->id,
                .sandbox = run->sandbox_id,
                .runtime = run->request.runtime,
                .key = run->key[0] ? run->key : NULL,
                .input = run->request.log_input,
                .input_len = run->request.log_input_len,
                .started_ms = run->started_ms,
        };
}

struct about context_run_about(const struct context_run *run)
{
        return (struct about){.request = &run->request,
                              .key_name = run->key_name,
                              .image = run->image_name,
                              .engine = run->engine,
                              .tier = run->tier};
}

void context_run_conclude(struct context_run *run)
{
        struct cella_result *r = &run->result;
        if (r->duration_us == 0)
                r->duration_us = (uint64_t)(clock_us() - run->started_us);
        verdict(&run->facts, r);
        memcpy(r->id, run->id, sizeof r->id);
        memcpy(r->sandbox, run->sandbox_id, sizeof r->sandbox);
        observer_conclude(&run->observer, &run->facts, &run->limits);
        hint_of_module(run->error, run->error_len, r);
        for (int i = 0; i < 2; i++) {
                const bool truncated = !run->streamed && keep_truncated(&run->keep[i]);
                verdict_take_output(r, (enum cella_stream)i, &run->keep[i], run->total[i], truncated);
        }
}

void context_run_record(const struct context_run *run)
{
        const struct about about = context_run_about(run);
        struct audit_begin begin = context_run_log(run);
        learned_count(run->core, run->key, run->image_name, &run->request);
        record_end(run->core, run->audit_slot, &begin, &about, &run->result);
        record_count(run->core, &run->result);
}

/* Sets the usage from the sandbox's counters.  They include everything that ran in the sandbox meanwhile,
 * which is mostly this run. */
void context_run_count(struct context_run *run, const struct keeper_counted *now)
{
        struct cgroup_usage *u = &run->facts.usage;
        if (!now->known || !run->before.known)
                return;
        verdict_count(&run->facts, &run->before, run->before.cpu_us, now);
        /* The counters were read after its end; other code may have run meanwhile. */
        if (run->result.duration_us > 0 && u->cpu_us > run->result.duration_us * run->core->cores)
                u->cpu_us = run->result.duration_us * run->core->cores;
}

/* ---- queries ---- */

void context_run_each(const struct core *core, void (*each)(struct context_run *, void *), void *what)
{
        list_each (at, &core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                for (unsigned i = 0; i < SANDBOX_CONTEXTS_MAX; i++)
                        if (sb->contexts[i] && sb->contexts[i]->run)
                                each(sb->contexts[i]->run, what);
        }
}

static void context_result_cancel(struct context_run *run, void *what)
{
        bool *any = what;
        *any = true;
        context_run_cancel(run);
}

bool context_run_cancel_all(const struct core *core)
{
        bool any = false;
        context_run_each(core, context_result_cancel, &any);
        return any;
}

struct search {
        const struct caller *caller;
        const char *id;
        struct context_run *found;
};

static void context_result_compare(struct context_run *run, void *what)
{
        struct search *s = what;
        if (!strcmp(run->id, s->id) &&
            (caller_sees(s->caller, run->key) || (s->caller->capabilities & MAY_AUDIT)))
                s->found = run;
}

struct context_run *context_run_find(const struct core *core, const struct caller *caller, const char *id)
{
        struct search search = {.caller = caller, .id = id};
        context_run_each(core, context_result_compare, &search);
        return search.found;
}

json_t *context_run_to_json(const struct context_run *run)
{
        return json_pack("{s:s, s:s, s:s, s:s?, s:n, s:s, s:n, s:n, s:s?, s:o}", "id", run->id, "sandbox",
                         run->sandbox_id, "context", run->context_id, "runtime", run->request.runtime,
                         "command", "status", "running", "session", "agent", "key",
                         run->key[0] ? run->key : NULL, "started", core_time(run->started_ms));
}

struct result_run context_run_extra(const struct context_run *run)
{
        return (struct result_run){
                .context = run->context_id,
                .results = (const char *const *)run->results,
                .result_lens = run->result_lens,
                .n_results = run->n_results,
                .results_truncated = run->results_truncated,
                .error = run->error,
                .error_len = run->error_len,
        };
}

char *context_run_text(const struct context_run *run, unsigned flags, size_t *ret_len)
{
        struct cella_isolation isolation;
        char *text = NULL;
        struct json j = {.out = open_memstream(&text, ret_len)};
        const struct result_run extra = context_run_extra(run);
        if (!j.out)
                return NULL;
        isolation_fill(run->walls, run->missing, &isolation);
        struct result_about about = exec_request_about(&run->request, &isolation);
        about.run = &extra;
        result_write(&j, &run->result, &about, flags);
        fclose(j.out);
        return text;
}
