#include "jail/rlimits.h"

#include <errno.h>
#include <sys/resource.h>

#include "base/auto.h"
#include "base/err.h"
#include "sys/process.h"

int rlimits_set(uint64_t open_files, uint64_t file_bytes, uint64_t processes, struct cella_err *err)
{
        const struct {
                int resource;
                uint64_t limit;
        } limits[] = {
                /* Not 0: a handler behind a pipe of core_pattern is started all the same then. */
                {RLIMIT_CORE, 1},           {RLIMIT_NOFILE, open_files},
                {RLIMIT_FSIZE, file_bytes}, {RLIMIT_RTPRIO, 0},
                {RLIMIT_NICE, 0},           {RLIMIT_SIGPENDING, 4096},
                {RLIMIT_MEMLOCK, 8u << 20}, {RLIMIT_MSGQUEUE, 819200},
                {RLIMIT_NPROC, processes},
        };
        const size_t n = ARRAY_LEN(limits) - (processes == RLIMITS_NO_PROCESSES);
        for (size_t i = 0; i < n; i++) {
                int r = sys_setrlimit(limits[i].resource, limits[i].limit);
                /* A ceiling that is lower already, and that we may not raise, stays. */
                if (r < 0 && r != -EPERM)
                        return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "rlimit: cannot set");
        }
        return 0;
}
