/* front/rest/metrics.c -- counters in the format of Prometheus. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/execution/execution.h"
#include "core/image/images.h"
#include "core/pool/pool.h"
#include "core/sandbox/queue.h"
#include "core/sandbox/sandbox.h"
#include "core/sandbox/workers.h"
#include "front/rest/rest.h"

static void head(FILE *out, const char *name, const char *type, const char *help)
{
        fprintf(out, "# HELP cella_%s %s\n# TYPE cella_%s %s\n", name, help, name, type);
}

static void metrics_one(FILE *out, const char *name, const char *type, const char *help, double value)
{
        head(out, name, type, help);
        fprintf(out, "cella_%s %.17g\n", name, value);
}

static void executions(FILE *out, const struct metrics *m)
{
        uint64_t sum = 0;
        head(out, "executions_total", "counter", "Executions that ended, by status.");
        for (int i = 0; i < METRICS_STATUSES; i++)
                fprintf(out, "cella_executions_total{status=\"%s\"} %llu\n",
                        cella_status_name((enum cella_status)i), (unsigned long long)m->executions[i]);
        head(out, "execution_duration_seconds", "histogram", "How long executions took.");
        for (int i = 0; i < METRICS_BUCKETS; i++) {
                sum += m->latency[i];
                fprintf(out, "cella_execution_duration_seconds_bucket{le=\"%g\"} %llu\n",
                        (double)metrics_bounds_us[i] / 1e6, (unsigned long long)sum);
        }
        sum += m->latency[METRICS_BUCKETS];
        fprintf(out,
                "cella_execution_duration_seconds_bucket{le=\"+Inf\"} "
                "%llu\ncella_execution_duration_seconds_sum "
                "%.6f\ncella_execution_duration_seconds_count %llu\n",
                (unsigned long long)sum, (double)m->latency_sum_us / 1e6, (unsigned long long)sum);
}

static void violations(FILE *out, const struct core *core)
{
        head(out, "violations_total", "counter",
             "Violations: refused actions, and limits that were reached.");
        for (int i = 0; i < VIOLATION_KINDS; i++)
                fprintf(out, "cella_violations_total{kind=\"%s\"} %llu\n", violation_words[i],
                        (unsigned long long)core->metrics.violations[i]);
        metrics_one(out, "egress_connected", "gauge", "Whether the egress process runs.",
                    egress_is_connected(core));
}

static void metrics_images(FILE *out, const struct core *core)
{
        struct images_stat stat;
        images_stat(core, &stat);
        metrics_one(out, "images", "gauge", "Images in the store.", (double)stat.images);
        metrics_one(out, "images_bytes", "gauge",
                    "Sum of the sizes of the images; shared layers count for each image.",
                    (double)stat.bytes);
        metrics_one(out, "image_jobs", "gauge", "Pulls, imports and removals under way.", stat.jobs);
        head(out, "image_pulls_total", "counter", "Pulls that ended.");
        fprintf(out, "cella_image_pulls_total{outcome=\"done\"} %llu\n", (unsigned long long)stat.pulls);
        fprintf(out, "cella_image_pulls_total{outcome=\"failed\"} %llu\n",
                (unsigned long long)stat.pulls_failed);
}

/* Without access to the counters of the daemon: only those of the caller. */
static void sandboxes(FILE *out, const struct core *core, const struct caller *caller, bool all)
{
        static const char *const names[] = {
                [SANDBOX_STOPPED] = "stopped", [SANDBOX_WAITING] = "waiting", [SANDBOX_MAKING] = "making",
                [SANDBOX_RUNNING] = "running", [SANDBOX_PAUSED] = "paused",   [SANDBOX_DYING] = NULL,
                [SANDBOX_DEAD] = NULL,         [SANDBOX_ENDING] = "ending"};
        unsigned states[SANDBOX_STATES] = {0}, pooled = 0;
        list_each (at, &core->sandboxes, other) {
                const struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (sb->place.ahead)
                        pooled++;
                else if (all || caller_sees(caller, sb->key))
                        states[sb->state == SANDBOX_DYING || sb->state == SANDBOX_DEAD ? SANDBOX_ENDING
                                                                                       : sb->state]++;
        }
        head(out, "sandboxes", "gauge", "Sandboxes, by state.");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (names[i])
                        fprintf(out, "cella_sandboxes{state=\"%s\"} %u\n", names[i], states[i]);
        if (all)
                fprintf(out, "cella_sandboxes{state=\"pooled\"} %u\n", pooled);
}

/* Writes one number of each pool, labelled with its index in the settings. */
static void pools(FILE *out, const json_t *list, const char *field, const char *name, const char *type,
                  const char *help)
{
        size_t i;
        json_t *pool;
        head(out, name, type, help);
        json_array_foreach ((json_t *)list, i, pool)
                if (!json_object_get(pool, "learned")) /* those belong to one key */
                        fprintf(out, "cella_%s{pool=\"%zu\"} %.0f\n", name, i,
                                json_number_value(json_object_get(pool, field)));
}

static void all_pools(FILE *out, const struct core *core, const struct caller *caller)
{
        json_t *list = pools_to_json(core, caller);
        pools(out, list, "available", "pool_available", "gauge", "Sandboxes that wait in a pool.");
        pools(out, list, "in_use", "pool_in_use", "gauge", "Sandboxes taken from a pool.");
        pools(out, list, "hits", "pool_hits_total", "counter", "Executions served from a pool.");
        pools(out, list, "misses", "pool_misses_total", "counter", "Executions that found a pool empty.");
        json_decref(list);
}

static double resident_bytes(void)
{
        unsigned long pages = 0;
        FILE *f = fopen("/proc/self/statm", "re");
        if (f) {
                if (fscanf(f, "%*s %lu", &pages) != 1)
                        pages = 0;
                fclose(f);
        }
        return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Writes the current activity of the daemon, or of this caller. */
static void current(FILE *out, const struct core *core, const struct caller *caller)
{
        const bool all = caller_sees_counters(caller);
        unsigned running = 0;
        list_each (at, &core->executions, other)
                running += all || caller_sees(caller, list_entry(at, struct execution, link)->key);
        sandboxes(out, core, caller, all);
        metrics_one(out, "executions_running", "gauge", "Executions under way.", running);
        metrics_one(out, "queue_waiting", "gauge", "Requests that wait for room.",
                    all ? core->waiting : queue_waiting_of(core, caller->key));
        metrics_one(out, "uptime_seconds", "gauge", "Since the start.",
                    (double)(clock_us() - core->started_us) / 1e6);
}

static void counters(FILE *out, const struct call *call)
{
        const struct core *core = call->core;
        const struct metrics *m = &core->metrics;
        const struct keeper_groups groups = workers_groups(core);
        executions(out, m);
        all_pools(out, core, &call->caller);
        violations(out, core);
        metrics_one(out, "refused_capacity_total", "counter", "Requests refused because there was no room.",
                    (double)m->refused_capacity);
        metrics_one(out, "refused_auth_total", "counter", "Requests refused for their key, host or origin.",
                    (double)m->refused_auth);
        metrics_one(out, "sandboxes_made_total", "counter", "Sandboxes made.", (double)m->sandboxes_made);
        metrics_one(out, "sandboxes_failed_total", "counter", "Sandboxes that could not be made.",
                    (double)m->sandboxes_failed);
        metrics_one(out, "workers", "gauge", "Processes beside the keeper that make sandboxes.",
                    workers_count(core));
        head(out, "cgroups_total", "counter",
             "Control groups, by what was done; as of the last new sandbox.");
        fprintf(out,
                "cella_cgroups_total{event=\"made\"} %u\ncella_cgroups_total{event=\"reused\"} %u\n"
                "cella_cgroups_total{event=\"removed\"} %u\n",
                groups.made, groups.reused, groups.removed);
        metrics_images(out, core);
        metrics_one(out, "audit_waiting", "gauge", "Records not written to the log yet.",
                    audit_waiting(core->audit));
        metrics_one(out, "audit_lost_total", "counter", "Records that the log could not take.",
                    (double)audit_lost(core->audit));
        metrics_one(out, "http_connections", "gauge", "Open connections.",
                    http_server_connections(call->api->http));
        metrics_one(out, "process_resident_memory_bytes", "gauge", "Memory of the server.", resident_bytes());
        head(out, "http_requests_total", "counter", "Requests, by the first digit of the status.");
        for (int i = 1; i < 6; i++)
                fprintf(out, "cella_http_requests_total{code=\"%dxx\"} %llu\n", i,
                        (unsigned long long)m->requests[i]);
}

void rest_metrics(struct call *call, json_t *body)
{
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);
        (void)body;
        if (!out)
                return;
        current(out, call->core, &call->caller);
        if (caller_sees_counters(&call->caller))
                counters(out, call);
        fclose(out);
        http_reply_take(call->request, 200, "text/plain; version=0.0.4", text, len);
}
