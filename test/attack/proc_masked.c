#include "attack.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

/* Kernel memory, keys, timers, hardware.  Masked means that something else is mounted
 * over the file, so that it is no longer part of the proc file system; whether we could
 * read it otherwise is for its owner and mode to say, and a second question. */
ATTACK(proc_masked, WALL_PROC, "read what /proc tells about the machine")
{
        static const char *const paths[] = {
                "/proc/kcore",         "/proc/keys",        "/proc/timer_list",  "/proc/interrupts",
                "/proc/latency_stats", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",
                "/proc/acpi",          "/proc/asound",
        };
        enum attack_outcome outcome = ATTACK_BLOCKED;
        struct statfs fs;
        int masked = 0;

        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
                if (statfs(paths[i], &fs) < 0) {
                        if (errno != ENOENT)
                                outcome = attack_worse(outcome, attack_broken("%s: unforeseen: %s", paths[i],
                                                                              strerror(errno)));
                } else if (fs.f_type == PROC_SUPER_MAGIC) {
                        outcome =
                                attack_worse(outcome, attack_succeeded("%s is %s", paths[i],
                                                                       access(paths[i], R_OK) == 0
                                                                               ? "readable"
                                                                               : "closed only by its mode"));
                } else {
                        masked++;
                }
        }
        if (outcome == ATTACK_BLOCKED)
                return attack_blocked("%d masked, the others not there", masked);
        return outcome;
}
