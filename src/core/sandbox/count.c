/* core/sandbox/count.c -- what a sandbox has used: asked of who made it, or read here.
 *
 * One that serves an execution out of a pool has groups that served before, whose files are open in the
 * keeper.  It lends them to us, so that the end of an execution needs no word of it: two wake-ups less while
 * somebody waits. */
#include <unistd.h>

#include "base/clock.h"
#include "core/sandbox/sandbox.h"

void sandbox_lend(struct core_sandbox *sb, struct keeper_link *link)
{
        for (int i = 0; i < N_COUNTERS && sb->has_files; i++)
                if (sb->files.fd[i] >= 0)
                        close(sb->files.fd[i]);
        sb->has_files = link != NULL;
        if (!link)
                return;
        keeper_link_take_counters(link, &sb->files);
        /* All that the end of an execution is told by, or none. */
        if (sb->files.fd[MEMORY_PEAK] < 0 || sb->files.fd[OOM_KILLS] < 0 || sb->files.fd[PIDS_REFUSED] < 0)
                sandbox_lend(sb, NULL);
}

bool sandbox_counted(const struct core_sandbox *sb, bool cpu, struct keeper_counted *ret)
{
        struct counters files = sb->files;
        struct cgroup_usage usage;
        if (!sb->has_files)
                return false;
        if (!cpu) /* the dearest of them */
                files.fd[CPU_US] = -1;
        *ret = (struct keeper_counted){.type = KEEPER_COUNTED, .sandbox = sb->handle, .read_us = clock_us()};
        counters_usage(&files, &usage);
        counters_tell(&usage, ret);
        return true;
}

int sandbox_count(struct core_sandbox *sb, keeper_answer answer, void *context)
{
        return sandbox_ask(sb, KEEPER_COUNT, answer, context);
}
