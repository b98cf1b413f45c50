/* bombs.c -- judges bombs by what the host sees.
 *
 * For each: the status must be one of those in the table, in time; what the sandbox was
 * on the host must be gone afterwards; and while it ended by itself, it must still be
 * of use.  Where a wall is named, the bomb's own count must show that this limit is what
 * stopped it: without the wall it gets through (all bombs end at a few hundred). */
#include "bombs.h"

#include "attack.h"
#include "jail/walls.h"
#include "traces.h"
#include "trial.h"

#define MIB (1ull << 20)
#define IN(status) (1u << (status))
#define FREE_MS 1000 /* for the end of a sandbox, whatever is in it */
#define MEMORY_GROWTH_KIB 8192

enum {
        BOMB_NEEDS_CGROUP = 1u << 0, /* nothing else limits it */
        BOMB_ANY_EXIT = 1u << 1,     /* its exit code says nothing */
        BOMB_LIST_FILES = 1u << 2,
        BOMB_KILL_ON_OUTPUT = 1u << 3,
        BOMB_WATCH_MEMORY = 1u << 4,   /* ours must not grow */
        BOMB_SPENDS_SANDBOX = 1u << 5, /* harm to its own sandbox is allowed */
};

static const struct bomb {
        const char *name, *attack;
        unsigned statuses; /* IN(...) */
        uint32_t wall;     /* without it the bomb succeeds; 0: not shown */
        uint32_t behind;   /* a second one, which then still ends it, and is the only one where the
                              host lacks the first */
        unsigned flags;
        uint64_t timeout_ms, grace_ms;
        uint64_t within_ms; /* 0: timeout and grace */
        uint64_t memory, disk, inodes, cpu_ms;
        uint32_t processes, files;
} bombs[] = {
        {"fork_bomb", "fork_bomb", IN(CELLA_PROCESS_LIMIT) | IN(CELLA_EXITED), WALL_CGROUP, WALL_RLIMIT,
         .processes = 64},
        {"thread_bomb", "thread_bomb", IN(CELLA_PROCESS_LIMIT) | IN(CELLA_EXITED), WALL_CGROUP, WALL_RLIMIT,
         .processes = 64},
        {"zombie_farm", "zombie_farm", IN(CELLA_PROCESS_LIMIT) | IN(CELLA_EXITED), WALL_CGROUP, WALL_RLIMIT,
         .processes = 64},
        {"memory_bomb", "memory_bomb", IN(CELLA_MEMORY_LIMIT), WALL_CGROUP,
         .flags = BOMB_NEEDS_CGROUP | BOMB_ANY_EXIT, .memory = 64 * MIB},
        {"memory_children", "memory_children", IN(CELLA_MEMORY_LIMIT), WALL_CGROUP,
         .flags = BOMB_NEEDS_CGROUP | BOMB_ANY_EXIT, .memory = 64 * MIB},
        {"memory_tmpfs", "memory_tmpfs", IN(CELLA_MEMORY_LIMIT), WALL_CGROUP,
         .flags = BOMB_NEEDS_CGROUP | BOMB_ANY_EXIT, .memory = 64 * MIB},
        {"memory_memfd", "memory_memfd", IN(CELLA_MEMORY_LIMIT), WALL_CGROUP,
         .flags = BOMB_NEEDS_CGROUP | BOMB_ANY_EXIT, .memory = 64 * MIB},
        {"disk_bomb", "disk_bomb", IN(CELLA_DISK_LIMIT), .disk = 32 * MIB},
        {"inode_bomb", "inode_bomb", IN(CELLA_DISK_LIMIT), .inodes = 1000},
        {"fd_bomb", "fd_bomb", IN(CELLA_EXITED), WALL_RLIMIT, .files = 128},
        {"huge_file", "huge_file", IN(CELLA_EXITED), WALL_RLIMIT},
        {"cpu_spin", "cpu_spin", IN(CELLA_CPU_LIMIT), .flags = BOMB_NEEDS_CGROUP | BOMB_ANY_EXIT,
         .cpu_ms = 300},
        {"deep_stack", "deep_stack", IN(CELLA_SIGNALED), .flags = BOMB_ANY_EXIT},
        {"timer_bomb", "timer_bomb", IN(CELLA_EXITED)},
        {"output_flood", "output_flood", IN(CELLA_EXITED), .flags = BOMB_WATCH_MEMORY, .timeout_ms = 9000},
        {"output_kill", "output_flood", IN(CELLA_OUTPUT_LIMIT), .flags = BOMB_KILL_ON_OUTPUT | BOMB_ANY_EXIT,
         .within_ms = 1000},
        {"deep_tree", "deep_tree", IN(CELLA_EXITED), .flags = BOMB_LIST_FILES, .timeout_ms = 9000},
        {"sleeping_daemon", "sleeping_daemon", IN(CELLA_EXITED), .within_ms = 1000},
        {"stopped_holder", "stopped_holder", IN(CELLA_EXITED), .within_ms = 1000},
        {"terminal_holder", "terminal_holder", IN(CELLA_EXITED), .within_ms = 1000},
        {"full_pipe", "full_pipe", IN(CELLA_EXITED), .within_ms = 1000},
        {"ignore_term", "ignore_term", IN(CELLA_TIMEOUT), .flags = BOMB_ANY_EXIT, .timeout_ms = 500,
         .grace_ms = 300},
        {"stop_everyone", "stop_everyone", IN(CELLA_TIMEOUT), .flags = BOMB_ANY_EXIT, .timeout_ms = 500,
         .grace_ms = 300},
        {"kill_everyone", "kill_everyone", IN(CELLA_EXITED), .within_ms = 1000},
        {"kill_init", "kill_init", IN(CELLA_EXITED), .within_ms = 1000},
        {"starve_init", "starve_init", IN(CELLA_EXITED), .flags = BOMB_SPENDS_SANDBOX},
};

static uint64_t now_ms(void)
{
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void fill_options(const struct bomb *b, const struct victims *v, struct trial_options *o)
{
        struct cella_limits *l = &o->options.limits;

        trial_options_fill(o, v);
        l->timeout_ms = b->timeout_ms ? b->timeout_ms : 5000;
        l->grace_ms = b->grace_ms ? b->grace_ms : 500;
        l->memory_bytes = b->memory ? b->memory : l->memory_bytes;
        l->disk_bytes = b->disk ? b->disk : l->disk_bytes;
        l->disk_inodes = b->inodes ? b->inodes : l->disk_inodes;
        l->cpu_time_ms = b->cpu_ms;
        l->processes = b->processes ? b->processes : l->processes;
        l->open_files = b->files ? b->files : l->open_files;
}

/* The bomb's own count is against the one limit that its row sets. */
static uint64_t limit_of(const struct bomb *b)
{
        return b->disk ? b->disk : b->inodes ? b->inodes : b->files ? b->files : b->processes;
}

/* What is in the sandbox may be anything, but a small program must still run. */
static int run_list(struct cella_sandbox *sandbox, const struct victims *v, uint32_t walls_down,
                    struct cella_err *err)
{
        struct trial_command c;
        struct cella_result result = {0};

        trial_command_fill(&c, v, "--list", walls_down, 0);
        struct cella_command command = {.argv = c.argv, .cwd = "/", .stdin_fd = -1, .cancel_fd = -1};
        int r = cella_run(sandbox, &command, &result, err);
        if (r < 0)
                return r;
        if (result.status != CELLA_EXITED || result.exit_code != 0) {
                snprintf(err->msg, sizeof err->msg, "%s, exit code %d", cella_status_name(result.status),
                         result.exit_code);
                r = -1;
        }
        cella_result_done(&result);
        return r;
}

/* The results of one run of a bomb. */
struct shown {
        struct cella_result result; /* output freed, lengths kept */
        uint32_t missing;
        char said[400];
        char wrong[700]; /* empty: nothing */
};

#define WRONG(...)                                                                                           \
        do {                                                                                                 \
                if (!shown->wrong[0])                                                                        \
                        snprintf(shown->wrong, sizeof shown->wrong, __VA_ARGS__);                            \
        } while (0)

static void judge_run(const struct bomb *b, const struct cella_limits *limits, struct shown *shown)
{
        const struct cella_result *r = &shown->result;
        uint64_t grace = limits->grace_ms < limits->timeout_ms ? limits->grace_ms : limits->timeout_ms;
        uint64_t within = b->within_ms ? b->within_ms : limits->timeout_ms + grace;

        if (r->duration_us > (within + 200) * 1000)
                WRONG("took %llu ms, %llu allowed", (unsigned long long)r->duration_us / 1000,
                      (unsigned long long)within + 200);
        /* The kept output, with the line in place of what was left out. */
        if (r->output_len[0] > limits->output_bytes + 256)
                WRONG("%zu bytes of output kept", r->output_len[0]);
        if ((b->flags & BOMB_WATCH_MEMORY) && (!r->output_truncated[0] || r->output_total[0] != 256 * MIB))
                WRONG("%llu bytes of output counted%s", (unsigned long long)r->output_total[0],
                      r->output_truncated[0] ? "" : ", and not marked as truncated");
}

static void run_bomb(const struct bomb *b, struct cella_sandbox *sandbox, const struct victims *v,
                     const struct trial_command *c, struct shown *shown, struct cella_err *err)
{
        struct cella_result *r = &shown->result;
        struct cella_command command = {.argv = c->argv, .stdin_fd = -1, .cancel_fd = -1};

        command.list_files = b->flags & BOMB_LIST_FILES;
        command.kill_on_output_limit = b->flags & BOMB_KILL_ON_OUTPUT;
        traces_memory_reset();
        long before = traces_memory_now();
        if (cella_run(sandbox, &command, r, err) < 0) {
                WRONG("no result: %s", err->msg);
                return;
        }
        long grown = traces_memory_peak() - before;
        if ((b->flags & BOMB_WATCH_MEMORY) && grown > MEMORY_GROWTH_KIB)
                WRONG("our own memory grew by %ld KiB", grown);
        size_t n = r->output_len[0] < sizeof shown->said ? r->output_len[0] : sizeof shown->said - 1;
        if (n > 0)
                memcpy(shown->said, r->output[0], n);
        shown->said[strcspn(shown->said, "\n")] = '\0';

        bool ended =
                r->status == CELLA_TIMEOUT || r->status == CELLA_CPU_LIMIT || r->status == CELLA_OUTPUT_LIMIT;
        struct cella_result copy = *r;
        cella_result_done(r);
        *r = copy; /* keeps the figures */
        r->output[0] = r->output[1] = NULL;
        if (!ended && !(b->flags & BOMB_SPENDS_SANDBOX) && run_list(sandbox, v, 0, err) < 0)
                WRONG("the sandbox is of no use afterwards: %s", err->msg);
}

static void try_bomb(const struct bomb *b, const struct victims *v, uint32_t walls_down, struct shown *shown)
{
        struct trial_options o;
        struct trial_command c;
        struct cella_sandbox *sandbox = NULL;
        struct cella_err err = {0};
        struct traces traces;

        memset(shown, 0, sizeof *shown);
        fill_options(b, v, &o);
        trial_command_fill(&c, v, b->attack, walls_down, limit_of(b));
        uint64_t start = now_ms();
        if (trial_sandbox(&o, walls_down, &sandbox, &err) < 0) {
                WRONG("no sandbox: %s", err.msg);
                return;
        }
        shown->missing = trial_missing(sandbox);
        /* A small command first, so that there is a sandbox to inspect. */
        if (run_list(sandbox, v, walls_down, &err) < 0) {
                WRONG("nothing runs: %s", err.msg);
        } else {
                traces_find(&traces, v->process);
                if (traces.init <= 0)
                        WRONG("the sandbox's first process is not ours");
                if (traces.n_cgroups == 0 && !(shown->missing & WALL_CGROUP))
                        WRONG("the sandbox is in no cgroup of its own");
                run_bomb(b, sandbox, v, &c, shown, &err);
                judge_run(b, &o.options.limits, shown);
        }
        uint64_t freed = now_ms();
        cella_sandbox_free(sandbox);
        if (now_ms() - freed > FREE_MS)
                WRONG("its end took %llu ms", (unsigned long long)(now_ms() - freed));
        if (now_ms() - start > o.options.limits.timeout_ms + o.options.limits.grace_ms + 3 * FREE_MS)
                WRONG("took %llu ms from start to end", (unsigned long long)(now_ms() - start));
        const char *left = shown->result.duration_us ? traces_left(&traces, c.mark) : NULL;
        if (left)
                WRONG("%s", left);
}

/* It did not get through: the table's status and, where that counts, the bomb's word. */
static bool was_stopped(const struct bomb *b, const struct shown *shown, bool any_status)
{
        const struct cella_result *r = &shown->result;

        if (shown->wrong[0] || (!any_status && !(b->statuses & IN(r->status))))
                return false;
        /* Only the cgroup's counter distinguishes this from an exit. */
        if (!any_status && !(shown->missing & WALL_CGROUP) && (b->statuses & IN(CELLA_PROCESS_LIMIT)) &&
            r->status != CELLA_PROCESS_LIMIT)
                return false;
        return (b->flags & BOMB_ANY_EXIT) || r->exit_code == ATTACK_BLOCKED;
}

static void fail(struct tally *tally, const struct bomb *b, const char *walls, const struct shown *shown)
{
        tally_fail(tally, b->name, "%s: %s%s%s, exit code %d: %s", walls, shown->wrong,
                   shown->wrong[0] ? "; " : "", cella_status_name(shown->result.status),
                   shown->result.exit_code, shown->said);
}

static bool ends_with(const char *text, const char *end)
{
        size_t n = strlen(text), m = strlen(end);

        return n >= m && strcmp(text + n - m, end) == 0;
}

/* Without its wall it gets through: all the way, or as far as the wall behind lets it. */
static bool got_through(const struct shown *shown, bool then_stopped)
{
        return shown->result.status == CELLA_EXITED && shown->result.exit_code == ATTACK_SUCCEEDED &&
               !strncmp(shown->said, "succeeded: ", 11) &&
               (!then_stopped || (!shown->wrong[0] && ends_with(shown->said, ATTACK_THEN_STOPPED)));
}

static void try_without(struct tally *tally, const struct bomb *b, const struct victims *v,
                        const struct shown *all_up)
{
        struct shown shown;
        char without[64], behind[64] = "";
        const char *status = cella_status_name(all_up->result.status);
        bool only_one = !b->behind || ((b->wall | b->behind) & all_up->missing);
        uint32_t wall = b->behind && (b->wall & all_up->missing) ? b->behind : b->wall;

        if (!only_one) {
                snprintf(behind, sizeof behind, "without %s", trial_wall_names(b->behind));
                try_bomb(b, v, b->behind, &shown);
                if (!was_stopped(b, &shown, false)) {
                        fail(tally, b, behind, &shown);
                        return;
                }
        }
        snprintf(without, sizeof without, "without %s", trial_wall_names(wall));
        try_bomb(b, v, wall, &shown);
        if (!got_through(&shown, !only_one))
                fail(tally, b, without, &shown);
        else if (only_one)
                tally_pass(tally, b->name, "%s, nothing left; succeeds %s", status, without);
        else
                tally_pass(tally, b->name, "%s, nothing left; stopped by two walls; %s: blocked; %s: %s",
                           status, behind, without, shown.said);
}

static bool unlimited(const struct bomb *b, const struct shown *shown)
{
        return (b->flags & BOMB_NEEDS_CGROUP) && (shown->missing & WALL_CGROUP);
}

static void judge_bomb(struct tally *tally, const struct bomb *b, const struct victims *v)
{
        struct shown shown;
        struct rlimit files;

        /* On a machine that others use, being late once proves nothing; each time, it does. */
        for (int tries = 0; tries < 3; tries++) {
                try_bomb(b, v, 0, &shown);
                if (was_stopped(b, &shown, false) || unlimited(b, &shown))
                        break;
        }
        if (unlimited(b, &shown)) {
                tally_skip(tally, b->name, "this user has no cgroup to limit it with");
                return;
        }
        if (!was_stopped(b, &shown, false)) {
                fail(tally, b, "with all walls", &shown);
                return;
        }
        enum cella_status status = shown.result.status;
        if (b->wall == 0 || TRIAL_WALLS_STAY_UP) {
                tally_pass(tally, b->name, "%s after %llu ms, nothing left (%s)", cella_status_name(status),
                           (unsigned long long)shown.result.duration_us / 1000, shown.said);
                return;
        }
        if (b->files && getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < b->files + 200) {
                tally_skip(tally, b->name,
                           "%s; without rlimit the host's own limit of %llu files is in the way",
                           cella_status_name(status), (unsigned long long)files.rlim_max);
                return;
        }
        try_without(tally, b, v, &shown);
}

void bombs_try_all(struct tally *tally, const struct victims *v, const char *filter)
{
        for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++)
                if (!filter || strstr(bombs[i].name, filter))
                        judge_bomb(tally, &bombs[i], v);
}
