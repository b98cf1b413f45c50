#include "jail/rlimits.h"

#include <errno.h>
#include <sys/resource.h>

#include "base/auto.h"
#include "base/err.h"
#include "sys/process.h"

int rlimits_set(const struct cella_limits *own, uint64_t file_bytes, uint64_t processes,
                struct cella_err *err)
{
        const struct {
                int resource;
                uint64_t limit;
        } limits[] = {
                /* Not 0: with 0 the kernel would still start a handler behind a pipe in core_pattern. */
                {RLIMIT_CORE, 1},           {RLIMIT_NOFILE, own->open_files},
                {RLIMIT_FSIZE, file_bytes}, {RLIMIT_RTPRIO, 0},
                {RLIMIT_NICE, 0},           {RLIMIT_SIGPENDING, 4096},
                {RLIMIT_MEMLOCK, 8u << 20}, {RLIMIT_MSGQUEUE, 819200},
                {RLIMIT_NPROC, processes},
        };
        const size_t n = ARRAY_LEN(limits) - (processes == RLIMITS_NO_PROCESSES);
        for (size_t i = 0; i < n; i++) {
                int r = sys_setrlimit(limits[i].resource, limits[i].limit);
                /* EPERM: the current limit is lower, and this process may not raise it. */
                if (r < 0 && r != -EPERM)
                        return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "rlimit: cannot set");
        }
        return 0;
}
