#include "engine/verdict.h"

#include <signal.h>
#include <sys/wait.h>

#define DISK_FULL_BYTES 4096

void verdict_end(struct verdict_facts *facts, enum ending why)
{
        if (facts->ending == END_BY_ITSELF)
                facts->ending = why;
}

bool verdict_output_ends(const struct cella_limits *limits, bool ends, uint64_t total)
{
        return ends && total > limits->output_bytes;
}

uint64_t verdict_cpu_since(uint64_t now_us, uint64_t before_us)
{
        return now_us > before_us ? now_us - before_us : 0;
}

void verdict_count(struct verdict_facts *facts, const struct keeper_counted *before, uint64_t cpu_before_us,
                   const struct keeper_counted *now)
{
        facts->counted = now->known != 0;
        facts->usage = (struct cgroup_usage){
                .oom_kills = now->oom_kills - before->oom_kills,
                .forks_refused = now->forks_refused - before->forks_refused,
                .cpu_known = now->known & KEEPER_KNOWS_CPU,
                .cpu_us = verdict_cpu_since(now->cpu_us, cpu_before_us),
                .memory_known = (now->known & KEEPER_KNOWS_MEMORY) &&
                                now->memory_peak_bytes > before->memory_peak_bytes,
                .memory_peak_bytes = now->memory_peak_bytes,
                .processes_known =
                        (now->known & KEEPER_KNOWS_PROCESSES) && now->processes_peak > before->processes_peak,
                .processes_peak = now->processes_peak,
        };
}

bool verdict_disk_is_full(const struct verdict_facts *facts)
{
        return facts->reported &&
               (facts->exited.disk_bytes_free < DISK_FULL_BYTES || facts->exited.disk_inodes_free == 0);
}

static void set_exit(const struct verdict_facts *facts, struct cella_result *result)
{
        int status = facts->reported ? facts->exited.wait_status : SIGKILL;
        if (WIFSIGNALED(status)) {
                result->signal = WTERMSIG(status);
                result->exit_code = 128 + result->signal;
                result->status = CELLA_SIGNALED;
        } else {
                result->signal = 0;
                result->exit_code = WEXITSTATUS(status);
                result->status = CELLA_EXITED;
        }
}

static void set_usage(const struct verdict_facts *facts, struct cella_result *result)
{
        result->cpu_us = facts->exited.cpu_us;
        result->memory_peak_bytes = facts->exited.rss_peak_bytes;
        if (!facts->counted)
                return;
        if (facts->usage.cpu_known)
                result->cpu_us = facts->usage.cpu_us;
        if (facts->usage.memory_known)
                result->memory_peak_bytes = facts->usage.memory_peak_bytes;
        if (facts->usage.processes_known)
                result->processes_peak = facts->usage.processes_peak;
}

/* A reached limit is the reason only if the command failed. */
static enum cella_status limit_hit(const struct verdict_facts *facts, const struct cella_result *result)
{
        if (result->exit_code == 0)
                return result->status;
        if (facts->counted && facts->usage.oom_kills > 0)
                return CELLA_MEMORY_LIMIT;
        if (result->signal == SIGXFSZ)
                return CELLA_DISK_LIMIT;
        if (verdict_disk_is_full(facts))
                return CELLA_DISK_LIMIT;
        if (facts->counted && facts->usage.forks_refused > 0)
                return CELLA_PROCESS_LIMIT;
        return result->status;
}

void verdict(const struct verdict_facts *facts, struct cella_result *result)
{
        set_exit(facts, result);
        set_usage(facts, result);
        switch (facts->ending) {
        case END_TIMEOUT:
                result->status = CELLA_TIMEOUT;
                break;
        case END_CPU:
                result->status = CELLA_CPU_LIMIT;
                break;
        case END_OUTPUT:
                result->status = CELLA_OUTPUT_LIMIT;
                break;
        case END_CANCELLED:
                result->status = CELLA_CANCELLED;
                break;
        case END_BY_ITSELF:
                result->status = limit_hit(facts, result);
        }
}

int verdict_take_output(struct cella_result *result, enum cella_stream stream, struct keep *keep,
                        uint64_t total, bool truncated)
{
        result->output_total[stream] = total;
        result->output_truncated[stream] = truncated;
        return keep_take(keep, &result->output[stream], &result->output_len[stream]);
}

const char *cella_status_name(enum cella_status status)
{
        static const char *const names[] = {
                [CELLA_EXITED] = "exited",         [CELLA_SIGNALED] = "signaled",
                [CELLA_TIMEOUT] = "timeout",       [CELLA_MEMORY_LIMIT] = "memory_limit",
                [CELLA_DISK_LIMIT] = "disk_limit", [CELLA_PROCESS_LIMIT] = "process_limit",
                [CELLA_CPU_LIMIT] = "cpu_limit",   [CELLA_OUTPUT_LIMIT] = "output_limit",
                [CELLA_CANCELLED] = "cancelled",   [CELLA_INTERRUPTED] = "interrupted",
        };
        return (size_t)status < sizeof names / sizeof *names ? names[status] : "internal";
}
