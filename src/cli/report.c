#include "cli/report.h"

#include "base/json.h"

static void list(struct json *j, const char *key, const char *const *words, size_t n)
{
        json_put_open(j, key, '[');
        for (size_t i = 0; i < n; i++)
                json_put_string(j, NULL, words[i]);
        json_put_close(j, ']');
}

static void output(struct json *j, const struct cella_result *r)
{
        json_put_bytes(j, "stdout", r->output[CELLA_STDOUT], r->output_len[CELLA_STDOUT]);
        json_put_bytes(j, "stderr", r->output[CELLA_STDERR], r->output_len[CELLA_STDERR]);
        json_put_bool(j, "stdout_truncated", r->output_truncated[CELLA_STDOUT]);
        json_put_bool(j, "stderr_truncated", r->output_truncated[CELLA_STDERR]);
        json_put_number(j, "stdout_bytes", r->output_total[CELLA_STDOUT]);
        json_put_number(j, "stderr_bytes", r->output_total[CELLA_STDERR]);
}

static void usage(struct json *j, const struct cella_result *r)
{
        json_put_real(j, "duration_ms", (double)r->duration_us / 1000);
        json_put_open(j, "usage", '{');
        json_put_real(j, "cpu_ms", (double)r->cpu_us / 1000);
        if (r->memory_peak_bytes)
                json_put_number(j, "memory_peak_bytes", r->memory_peak_bytes);
        else
                json_put_null(j, "memory_peak_bytes");
        if (r->processes_peak)
                json_put_number(j, "processes_peak", r->processes_peak);
        else
                json_put_null(j, "processes_peak");
        json_put_close(j, '}');
}

static void files(struct json *j, const struct cella_result *r)
{
        json_put_open(j, "files", '[');
        for (size_t i = 0; i < r->n_files; i++) {
                json_put_open(j, NULL, '{');
                json_put_string(j, "path", r->files[i].path);
                json_put_string(j, "change", r->files[i].change);
                json_put_number(j, "bytes", r->files[i].bytes);
                json_put_close(j, '}');
        }
        json_put_close(j, ']');
        if (r->files_truncated)
                json_put_bool(j, "files_truncated", true);
}

static void violations(struct json *j, const struct cella_result *r)
{
        json_put_open(j, "violations", '[');
        for (size_t i = 0; i < r->n_violations; i++) {
                json_put_open(j, NULL, '{');
                json_put_string(j, "kind", r->violations[i].kind);
                json_put_string(j, "target", r->violations[i].target);
                json_put_string(j, "detail", r->violations[i].detail);
                json_put_close(j, '}');
        }
        json_put_close(j, ']');
}

void report_result(const struct cella_result *r, const char *runtime, const struct cella_isolation *isolation)
{
        struct json j = {.out = stdout};
        json_put_open(&j, NULL, '{');
        json_put_string(&j, "id", r->id);
        json_put_string(&j, "sandbox", r->sandbox);
        if (runtime)
                json_put_string(&j, "runtime", runtime);
        else
                json_put_null(&j, "runtime");
        json_put_string(&j, "status", cella_status_name(r->status));
        json_put_number(&j, "exit_code", (uint64_t)r->exit_code);
        if (r->signal)
                json_put_number(&j, "signal", (uint64_t)r->signal);
        else
                json_put_null(&j, "signal");
        json_put_bool(&j, "timed_out", r->status == CELLA_TIMEOUT);
        output(&j, r);
        usage(&j, r);
        json_put_open(&j, "results", '[');
        json_put_close(&j, ']');
        files(&j, r);
        violations(&j, r);
        json_put_open(&j, "isolation", '{');
        json_put_string(&j, "engine", "native");
        list(&j, "layers", isolation->layers, isolation->n_layers);
        list(&j, "missing", isolation->missing, isolation->n_missing);
        json_put_close(&j, '}');
        json_put_real(&j, "cost", 1.0);
        json_put_close(&j, '}');
        putchar('\n');
}

void report_error(const struct cella_err *err)
{
        struct json j = {.out = stdout};
        json_put_open(&j, NULL, '{');
        json_put_open(&j, "error", '{');
        json_put_string(&j, "kind", cella_kind_name(err->kind));
        json_put_string(&j, "message", err->msg);
        json_put_string(&j, "hint", err->hint);
        json_put_close(&j, '}');
        json_put_close(&j, '}');
        putchar('\n');
}
