/* front/rest/events_report.c -- creates the events for watchers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/execution/execution.h"
#include "core/sandbox/queue.h"
#include "core/sandbox/sandbox.h"
#include "front/rest/events.h"

#define SHOWN_MAX 240    /* sandboxes in a list */
#define LABELS_BYTES 200 /* of the labels of one sandbox, which may have megabytes */

bool events_shows(const struct core_sandbox *sb, const struct caller *caller)
{
        return !sb->one_shot && !sb->place.ahead && !sb->removing && caller_sees(caller, sb->key);
}

/* At most; stops counting where it is too much for a label. */
static size_t bytes_in_json(const char *text)
{
        size_t n = 0;
        for (const unsigned char *c = (const unsigned char *)text; *c && n <= LABELS_BYTES; c++)
                n += *c < 0x20 || *c >= 0x7f || *c == '"' || *c == '\\' ? 6 : 1;
        return n;
}

/* Whether a label is shown: small ones are, as long as they fit together. */
static bool label_fits(const char *name, const json_t *value, size_t *left)
{
        size_t len = bytes_in_json(name) + bytes_in_json(json_string_value(value));
        if (len > *left)
                return false;
        *left -= len;
        return true;
}

static json_t *brief_labels(const json_t *metadata)
{
        json_t *brief = json_object(), *value;
        size_t left = LABELS_BYTES;
        const char *name;
        json_object_foreach ((json_t *)metadata, name, value)
                if (label_fits(name, value, &left))
                        json_object_set(brief, name, value);
        return brief;
}

static uint64_t look_at_text(uint64_t look, const char *text)
{
        for (const char *c = text; *c; c++)
                look = (look ^ (uint64_t)*c) * UINT64_C(0x100000001b3);
        return (look ^ 0xff) * UINT64_C(0x100000001b3);
}

uint64_t events_look_of(const struct core_sandbox *sb)
{
        uint64_t parts[] = {(uint64_t)sb->state, sb->executions, sandbox_processes_running(sb),
                            (uint64_t)sb->expires_ms, sb->removing},
                 look = UINT64_C(0xcbf29ce484222325);
        size_t left = LABELS_BYTES;
        const char *name;
        json_t *value;
        look = look_at_text(look, sb->name);
        json_object_foreach (sb->metadata, name, value)
                if (label_fits(name, value, &left))
                        look = look_at_text(look_at_text(look, name), json_string_value(value));
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
                look = (look ^ parts[i]) * UINT64_C(0x100000001b3);
        return look | 1;
}

static json_t *sandbox_row(const struct core_sandbox *sb)
{
        json_t *o = sandbox_to_json(sb);
        json_object_set_new(o, "metadata", brief_labels(sb->metadata));
        json_object_del(o, "isolation");
        json_object_del(o, "network");
        return o;
}

void events_report_sandbox(struct watcher *w, const struct core_sandbox *sb)
{
        sse_event(&w->sse, "sandbox", sandbox_row(sb));
}

void events_report_sandboxes(struct watcher *w)
{
        json_t *list = json_array();
        unsigned left_out = 0;
        list_each (at, &w->call->core->sandboxes, other) {
                const struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (!events_shows(sb, &w->call->caller))
                        continue;
                if (json_array_size(list) < SHOWN_MAX)
                        json_array_append_new(list, sandbox_row(sb));
                else
                        left_out++;
        }
        sse_event(&w->sse, "sandboxes",
                  json_pack("{s:o, s:i}", "sandboxes", list, "left_out", (int)left_out));
}

static int by_us(const void *a, const void *b)
{
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        return x < y ? -1 : x > y;
}

static json_t *milliseconds(const uint32_t *sorted, unsigned n, double part)
{
        return n == 0 ? json_null() : json_real((double)sorted[(unsigned)((n - 1) * part + 0.5)] / 1000);
}

/* Returns the rate and the durations of the executions that this watcher may see. */
static json_t *rates(const struct events *e, const struct watcher *w)
{
        static uint32_t sorted[SAMPLES_MAX];
        unsigned n = 0;
        double seconds = (double)(clock_us() - e->second_us) / 1e6;
        for (unsigned i = 0; i < e->n_samples; i++)
                if (w->counts || !strcmp(e->samples[i].key, w->call->caller.key))
                        sorted[n++] = e->samples[i].us;
        qsort(sorted, n, sizeof *sorted, by_us);
        double ended = e->n_samples ? (double)n * (double)e->n_ended / e->n_samples : 0;
        return json_pack("{s:f, s:o, s:o}", "executions_per_second", seconds > 0.05 ? ended / seconds : 0.0,
                         "latency_p50_ms", milliseconds(sorted, n, 0.5), "latency_p99_ms",
                         milliseconds(sorted, n, 0.99));
}

static unsigned running(const struct watcher *w)
{
        unsigned n = 0;
        list_each (at, &w->call->core->executions, other) {
                const struct execution *ex = list_entry(at, struct execution, link);
                n += w->counts || !strcmp(ex->key, w->call->caller.key);
        }
        return n;
}

static json_int_t resident_bytes(void)
{
        long pages = 0;
        FILE *f = fopen("/proc/self/statm", "re");
        if (f && fscanf(f, "%*s %ld", &pages) != 1)
                pages = 0;
        if (f)
                fclose(f);
        return (json_int_t)pages * sysconf(_SC_PAGESIZE);
}

/* Memory of the machine, in bytes; -1 if unknown. */
static void host_memory(json_int_t *ret_total, json_int_t *ret_available)
{
        char line[128];
        unsigned long long kib;
        FILE *f = fopen("/proc/meminfo", "re");
        *ret_total = *ret_available = -1;
        while (f && fgets(line, sizeof line, f)) {
                if (sscanf(line, "MemTotal: %llu", &kib) == 1)
                        *ret_total = (json_int_t)kib * 1024;
                else if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
                        *ret_available = (json_int_t)kib * 1024;
        }
        if (f)
                fclose(f);
}

void events_report_snapshot(const struct events *e, struct watcher *w)
{
        json_int_t total, available;
        json_t *rate = rates(e, w);
        const struct caller *caller = &w->call->caller;
        const struct core *core = w->call->core;
        const bool all = w->counts;
        host_memory(&total, &available);
        json_object_set_new(rate, "running", json_integer(running(w)));
        json_object_set_new(rate, "waiting",
                            json_integer(all ? core->waiting : queue_waiting_of(core, caller->key)));
        json_t *memory = json_pack("{s:o, s:o, s:o}", "server_bytes",
                                   all ? json_integer(resident_bytes()) : json_null(), "total_bytes",
                                   !all || total < 0 ? json_null() : json_integer(total), "available_bytes",
                                   !all || available < 0 ? json_null() : json_integer(available));
        sse_event(&w->sse, "snapshot",
                  json_pack("{s:o, s:o, s:o, s:o}", "time", core_time(core_now_ms()), "health",
                            rest_health_json(core, caller), "rates", rate, "memory", memory));
}

static json_t *minute_json(const struct metrics_minute *m)
{
        json_t *latency = json_array();
        for (int i = 0; i <= METRICS_BUCKETS; i++)
                json_array_append_new(latency, json_integer(m->latency[i]));
        return json_pack("{s:o, s:I, s:o, s:I}", "time", core_time(m->minute * 60000), "executions",
                         (json_int_t)m->executions, "latency", latency, "sandboxes", (json_int_t)m->alive);
}

void events_report_history(struct watcher *w)
{
        const int64_t now = core_now_ms() / 60000;
        if (!w->counts)
                return;
        json_t *minutes = json_array(), *bounds = json_array();
        for (int i = 0; i < METRICS_BUCKETS; i++)
                json_array_append_new(bounds, json_real((double)metrics_bounds_us[i] / 1000));
        for (int64_t minute = now - METRICS_MINUTES + 1; minute <= now; minute++) {
                const struct metrics_minute *m = metrics_minute(&w->call->core->metrics, minute);
                if (m)
                        json_array_append_new(minutes, minute_json(m));
        }
        sse_event(&w->sse, "history",
                  json_pack("{s:o, s:o, s:o}", "time", core_time(core_now_ms()), "bounds_ms", bounds,
                            "minutes", minutes));
}

void events_report_usage(const struct events *e, struct watcher *w)
{
        json_t *all = json_object();
        for (unsigned i = 0; i < USAGE_MAX; i++)
                if (e->asked[i].known && caller_sees(&w->call->caller, e->asked[i].key))
                        json_object_set_new(all, e->asked[i].id, rest_usage_json(&e->asked[i].counted));
        if (json_object_size(all) > 0)
                sse_event(&w->sse, "usage", all);
        else
                json_decref(all);
}

void events_report_executions(struct watcher *w)
{
        if (json_array_size(w->rows) == 0 && w->missed == 0)
                return;
        sse_event(&w->sse, "executions",
                  json_pack("{s:o, s:i}", "executions", w->rows, "missed", (int)w->missed));
        w->rows = json_array();
        w->missed = 0;
}
