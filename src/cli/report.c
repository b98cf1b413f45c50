#include "cli/report.h"

#include "base/json.h"

static void list(struct json *j, const char *key, const char *const *words, size_t n)
{
        json_open(j, key, '[');
        for (size_t i = 0; i < n; i++)
                json_string(j, NULL, words[i]);
        json_close(j, ']');
}

static void output(struct json *j, const struct cella_result *r)
{
        json_bytes(j, "stdout", r->output[CELLA_STDOUT], r->output_len[CELLA_STDOUT]);
        json_bytes(j, "stderr", r->output[CELLA_STDERR], r->output_len[CELLA_STDERR]);
        json_bool(j, "stdout_truncated", r->output_truncated[CELLA_STDOUT]);
        json_bool(j, "stderr_truncated", r->output_truncated[CELLA_STDERR]);
        json_number(j, "stdout_bytes", r->output_total[CELLA_STDOUT]);
        json_number(j, "stderr_bytes", r->output_total[CELLA_STDERR]);
}

static void usage(struct json *j, const struct cella_result *r)
{
        json_real(j, "duration_ms", (double)r->duration_us / 1000);
        json_open(j, "usage", '{');
        json_real(j, "cpu_ms", (double)r->cpu_us / 1000);
        if (r->memory_peak_bytes)
                json_number(j, "memory_peak_bytes", r->memory_peak_bytes);
        else
                json_null(j, "memory_peak_bytes");
        if (r->processes_peak)
                json_number(j, "processes_peak", r->processes_peak);
        else
                json_null(j, "processes_peak");
        json_close(j, '}');
}

static void files(struct json *j, const struct cella_result *r)
{
        json_open(j, "files", '[');
        for (size_t i = 0; i < r->n_files; i++) {
                json_open(j, NULL, '{');
                json_string(j, "path", r->files[i].path);
                json_string(j, "change", r->files[i].change);
                json_number(j, "bytes", r->files[i].bytes);
                json_close(j, '}');
        }
        json_close(j, ']');
        if (r->files_truncated)
                json_bool(j, "files_truncated", true);
}

static void violations(struct json *j, const struct cella_result *r)
{
        json_open(j, "violations", '[');
        for (size_t i = 0; i < r->n_violations; i++) {
                json_open(j, NULL, '{');
                json_string(j, "kind", r->violations[i].kind);
                json_string(j, "target", r->violations[i].target);
                json_string(j, "detail", r->violations[i].detail);
                json_close(j, '}');
        }
        json_close(j, ']');
}

void report_result(const struct cella_result *r, const char *runtime, const struct cella_isolation *isolation)
{
        struct json j = {.out = stdout};
        json_open(&j, NULL, '{');
        json_string(&j, "id", r->id);
        json_string(&j, "sandbox", r->sandbox);
        if (runtime)
                json_string(&j, "runtime", runtime);
        else
                json_null(&j, "runtime");
        json_string(&j, "status", cella_status_name(r->status));
        json_number(&j, "exit_code", (uint64_t)r->exit_code);
        if (r->signal)
                json_number(&j, "signal", (uint64_t)r->signal);
        else
                json_null(&j, "signal");
        json_bool(&j, "timed_out", r->status == CELLA_TIMEOUT);
        output(&j, r);
        usage(&j, r);
        json_open(&j, "results", '[');
        json_close(&j, ']');
        files(&j, r);
        violations(&j, r);
        json_open(&j, "isolation", '{');
        json_string(&j, "engine", "native");
        list(&j, "layers", isolation->layers, isolation->n_layers);
        list(&j, "missing", isolation->missing, isolation->n_missing);
        json_close(&j, '}');
        json_real(&j, "cost", 1.0);
        json_close(&j, '}');
        putchar('\n');
}

void report_error(const struct cella_err *err)
{
        struct json j = {.out = stdout};
        json_open(&j, NULL, '{');
        json_open(&j, "error", '{');
        json_string(&j, "kind", cella_kind_name(err->kind));
        json_string(&j, "message", err->msg);
        json_string(&j, "hint", err->hint);
        json_close(&j, '}');
        json_close(&j, '}');
        putchar('\n');
}
