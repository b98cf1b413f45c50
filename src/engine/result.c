#include "engine/result.h"

#include <string.h>

#include "base/auto.h"
#include "base/limits.h"
#include "jail/spec.h"

static void engine_result_list(struct json *j, const char *key, const char *const *words, size_t n)
{
        json_put_open(j, key, '[');
        for (size_t i = 0; i < n; i++)
                json_put_string(j, NULL, words[i]);
        json_put_close(j, ']');
}

static void output(struct json *j, const struct cella_result *r, unsigned flags)
{
        static const char *const names[] = {[CELLA_STDOUT] = "stdout", [CELLA_STDERR] = "stderr"};
        for (size_t i = 0; i < ARRAY_LEN(names) && !(flags & RESULT_WITHOUT_OUTPUT); i++) {
                if (flags & RESULT_BASE64)
                        json_put_base64(j, names[i], r->output[i], r->output_len[i]);
                else
                        json_put_bytes(j, names[i], r->output[i], r->output_len[i]);
        }
        json_put_bool(j, "stdout_truncated", r->output_truncated[CELLA_STDOUT]);
        json_put_bool(j, "stderr_truncated", r->output_truncated[CELLA_STDERR]);
        json_put_number(j, "stdout_bytes", r->output_total[CELLA_STDOUT]);
        json_put_number(j, "stderr_bytes", r->output_total[CELLA_STDERR]);
}

static void network(struct json *j, const struct cella_result *r)
{
        if (!r->has_network)
                return;
        if (!r->network_known) {
                json_put_null(j, "network");
                return;
        }
        json_put_open(j, "network", '{');
        json_put_number(j, "connections", r->network.connections);
        json_put_number(j, "refused", r->network.refused);
        json_put_number(j, "bytes_sent", r->network.bytes_sent);
        json_put_number(j, "bytes_received", r->network.bytes_received);
        json_put_number(j, "lookups", r->network.lookups);
        json_put_close(j, '}');
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
        network(j, r);
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

void result_write_violations(struct json *j, const char *name, const struct cella_result *r, size_t max)
{
        json_put_open(j, name, '[');
        for (size_t i = 0; i < r->n_violations && i < max; i++) {
                json_put_open(j, NULL, '{');
                json_put_string(j, "kind", r->violations[i].kind);
                json_put_string(j, "target", r->violations[i].target);
                json_put_string(j, "detail", r->violations[i].detail);
                json_put_close(j, '}');
        }
        json_put_close(j, ']');
}

static void results(struct json *j, const struct result_run *run)
{
        json_put_open(j, "results", '[');
        for (size_t i = 0; run && i < run->n_results; i++)
                json_put_raw(j, NULL, run->results[i], run->result_lens[i]);
        json_put_close(j, ']');
        if (run && run->results_truncated)
                json_put_bool(j, "results_truncated", true);
}

static void of_context(struct json *j, const struct result_run *run)
{
        if (run->context)
                json_put_string(j, "context", run->context);
        else
                json_put_null(j, "context");
        if (run->error)
                json_put_raw(j, "error", run->error, run->error_len);
        else
                json_put_null(j, "error");
}

static void isolation(struct json *j, const struct result_about *about)
{
        const struct cella_isolation *i = about->isolation;
        json_put_open(j, "isolation", '{');
        json_put_string(j, "engine", about->host ? "host" : i->engine ? i->engine : "native");
        engine_result_list(j, "layers", i->layers, i->n_layers);
        engine_result_list(j, "missing", i->missing, i->n_missing);
        if (i->users > 1)
                json_put_number(j, "users", i->users);
        if (about->reason)
                json_put_string(j, "reason", about->reason);
        json_put_close(j, '}');
}

void result_write(struct json *j, const struct cella_result *r, const struct result_about *about,
                  unsigned flags)
{
        json_put_open(j, NULL, '{');
        json_put_string(j, "id", r->id);
        json_put_string(j, "sandbox", r->sandbox);
        if (about->runtime)
                json_put_string(j, "runtime", about->runtime);
        else
                json_put_null(j, "runtime");
        json_put_string(j, "status", cella_status_name(r->status));
        json_put_number(j, "exit_code", (uint64_t)r->exit_code);
        if (r->signal)
                json_put_number(j, "signal", (uint64_t)r->signal);
        else
                json_put_null(j, "signal");
        json_put_bool(j, "timed_out", r->status == CELLA_TIMEOUT);
        output(j, r, flags);
        usage(j, r);
        results(j, about->run);
        if (about->run && !about->run->command)
                of_context(j, about->run);
        files(j, r);
        result_write_violations(j, "violations", r, SIZE_MAX);
        isolation(j, about);
        if (r->hint[0])
                json_put_string(j, "hint", r->hint);
        else
                json_put_null(j, "hint");
        if (about->more)
                about->more(j, about->of);
        json_put_real(j, "cost", 1.0);
        json_put_close(j, '}');
}

void isolation_fill(uint32_t walls, uint32_t missing, struct cella_isolation *ret)
{
        static const struct {
                uint32_t wall;
                const char *name;
        } layers[] = {
                {WALL_USER, "user"},     {WALL_PID, "pid"},         {WALL_MOUNT, "mount"},
                {WALL_NET, "net"},       {WALL_IPC, "ipc"},         {WALL_UTS, "uts"},
                {WALL_CGROUP, "cgroup"}, {WALL_SECCOMP, "seccomp"}, {WALL_LANDLOCK, "landlock"},
        };
        memset(ret, 0, sizeof *ret);
        ret->engine = walls & ISOLATION_PODMAN ? "podman" : walls & ISOLATION_DOCKER ? "docker" : "native";
        for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
                if (walls & layers[i].wall)
                        ret->layers[ret->n_layers++] = layers[i].name;
                else
                        ret->missing[ret->n_missing++] = layers[i].name;
        }
        ret->users = walls & WALLS_SEVERAL_USERS ? JAIL_IDS : 1;
        const struct limit *l;
        for (; (l = limit_of_bits(missing)); missing &= ~l->bit)
                ret->missing[ret->n_missing++] = l->missing;
}
