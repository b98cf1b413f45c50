#include "init/task.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "init/attach.h"
#include "init/attempts.h"
#include "init/init.h"
#include "init/refused.h"
#include "init/strangers.h"
#include "sys/process.h"
#include "sys/raw.h"

static BULKY struct task tasks[INIT_TASKS_MAX];
static unsigned n_slots; /* slots that were ever used; the others need not be examined */

/* NOLINTBEGIN(bugprone-macro-parentheses): a name cannot be in parentheses */
#define FOR_EACH_TASK(t)                                                                                     \
        for (struct task *t = tasks; t < tasks + n_slots; t++)                                               \
                if (t->kind != TASK_NONE)
/* NOLINTEND(bugprone-macro-parentheses) */

static struct task *find_tag(uint32_t tag)
{
        FOR_EACH_TASK(t)
        if (t->tag == tag)
                return t;
        return NULL;
}

static struct task *find_pid(pid_t pid)
{
        FOR_EACH_TASK(t)
        if (t->pid == pid)
                return t;
        return NULL;
}

bool task_has_pid(pid_t pid)
{
        return find_pid(pid) != NULL;
}

unsigned tasks_count(void)
{
        unsigned n = 0;
        FOR_EACH_TASK(t)
        n++;
        return n;
}

/* Whether a command of this kind would run beside a command that must be alone. */
static bool crowded(enum task_kind kind)
{
        FOR_EACH_TASK(t)
        if ((t->kind == TASK_ALONE && kind != TASK_OPERATION) ||
            (t->kind == TASK_COMMAND && kind == TASK_ALONE))
                return true;
        return false;
}

int task_new(enum task_kind kind, uint32_t tag, struct task **ret)
{
        if (tag == 0)
                return -EINVAL;
        if (find_tag(tag))
                return -EEXIST;
        if (crowded(kind))
                return -EBUSY;
        struct task *free = tasks;
        while (free < tasks + n_slots && free->kind != TASK_NONE)
                free++;
        if (free == tasks + INIT_TASKS_MAX)
                return -EAGAIN;
        if (free == tasks + n_slots)
                n_slots++;
        *free = (struct task){.kind = kind, .tag = tag};
        *ret = free;
        return 0;
}

void task_drop(struct task *task)
{
        if (task->memory)
                sys_call2(SYS_munmap, task->memory, task->memory_len);
        task->kind = TASK_NONE;
}

static void charge(struct task *task, const struct rusage *usage)
{
        uint64_t rss = (uint64_t)usage->ru_maxrss * 1024;
        task->cpu_us += (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000u +
                        (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
        if (rss > task->rss_peak_bytes)
                task->rss_peak_bytes = rss;
}

/* The same for a living process; it covers everything if the process started no others. */
static uint64_t cpu_us_so_far(pid_t pid)
{
        const clockid_t clock =
                (clockid_t)(~(unsigned)pid << 3 | 2); /* the encoding of clock_getcpuclockid() */
        struct timespec used = {0};
        sys_call2(SYS_clock_gettime, clock, &used);
        return (uint64_t)used.tv_sec * 1000000u + (uint64_t)used.tv_nsec / 1000;
}

/* The task that is charged for a child that was no task: a command that has ended, or the only command. */
static void charge_stranger(const struct rusage *usage)
{
        FOR_EACH_TASK(t)
        if (t->kind == TASK_ALONE || (t->kind == TASK_COMMAND && t->pid == 0)) {
                charge(t, usage);
                return;
        }
}

#define EXT4_TYPE 0xEF53
#define EXT4_KEPT (64u * 1024) /* ext4 refuses writes into the last bytes that it reports as free */

static uint64_t disk_limit; /* 0: none */

void tasks_limit_disk(uint64_t bytes)
{
        disk_limit = bytes;
}

/* Whether this is the sandbox's own volume (keeper/process/volume.c), which is slightly larger than the
 * limit, and the limit is reached. The free space at which ext4 refuses to write depends on the kernel and
 * the number of CPUs, and reserved space becomes free again when the file is closed, so the free space
 * alone does not show it. */
static bool is_full_volume(const struct statfs *disk)
{
        const uint64_t block = (uint64_t)disk->f_bsize, all = (uint64_t)disk->f_blocks * block;
        return disk_limit > 0 && all <= disk_limit + disk_limit / 32 + (4u << 20) &&
               ((uint64_t)disk->f_blocks - (uint64_t)disk->f_bfree) * block >= disk_limit;
}

/* Some file systems do not count inodes. */
void tasks_room(struct init_room *ret)
{
        static const char *const places[] = {"/tmp", "/workspace"};
        ret->disk_bytes_free = ret->disk_inodes_free = UINT64_MAX;
        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
                struct statfs disk;
                if (sys_call2(SYS_statfs, places[i], &disk) < 0)
                        continue;
                uint64_t bytes = (uint64_t)disk.f_bavail * (uint64_t)disk.f_bsize;
                if (disk.f_type == EXT4_TYPE)
                        bytes = bytes > EXT4_KEPT && !is_full_volume(&disk) ? bytes - EXT4_KEPT : 0;
                if (bytes < ret->disk_bytes_free)
                        ret->disk_bytes_free = bytes;
                if (disk.f_files > 0 && disk.f_ffree < ret->disk_inodes_free)
                        ret->disk_inodes_free = disk.f_ffree;
        }
}

static void report(struct task *task)
{
        if (task->reported)
                return;
        task->reported = true;
        struct init_exited exited = {
                .wait_status = task->status,
                .cpu_us = task->cpu_us,
                .rss_peak_bytes = task->rss_peak_bytes,
        };
        if (task->failure) {
                reply_failed(task->tag, CELLA_NOT_FOUND, task->failure, "cannot start the command");
                return;
        }
        if (task->lists)
                exited.none_added = list_none(task->tag, tasks_count() > 1);
        struct init_room room;
        tasks_room(&room);
        exited.disk_bytes_free = room.disk_bytes_free;
        exited.disk_inodes_free = room.disk_inodes_free;
        /* Code that copes with having no network needs no explanation. */
        if (task->kind != TASK_OPERATION && task->status != 0 && attempts_made())
                reply(INIT_UNREACHED, 0, NULL, 0);
        reply(INIT_EXITED, task->tag, &exited, sizeof exited);
}

/* Kills every other process of the sandbox and waits until they have ended. */
static void end_all(struct task *task)
{
        struct rusage usage;
        /* Outside our own process namespace (a test without that wall), -1 would kill all processes. */
        if (getpid() != 1)
                return;
        for (;;) {
                pid_t pid = sys_wait(-1, NULL, WNOHANG, &usage);
                if (pid == 0) {
                        sys_kill(-1, SIGKILL);
                        pid = sys_wait(-1, NULL, 0, &usage);
                }
                if (pid < 0)
                        return;
                charge(task, &usage);
        }
}

static void init_task_ended(struct task *task, int status, const struct rusage *usage)
{
        charge(task, usage);
        task->status = status;
        task->pid = 0;
        if (task->final || (task->kind == TASK_ALONE && tasks_count() == 1))
                end_all(task);
        /* A killed supervisor has stored nothing. */
        if (task->memory)
                task->status = task->command_ended ? task->command_status : SIGKILL;
        if (task->final || task->kind == TASK_OPERATION) {
                report(task);
                task_drop(task);
        }
        if (task->final)
                attach_leave(0);
}

/* The code has the same uid and can stop supervisors and helpers: let them continue. */
static void stopped(const struct task *task)
{
        if (task && (task->kind != TASK_ALONE || task->memory))
                sys_kill(task->pid, SIGCONT);
}

/* Kills the remaining processes of ended commands until there are none; then reports the commands. */
static void init_task_sweep(void)
{
        bool waiting = false, alone = true;
        FOR_EACH_TASK(t)
        {
                waiting |= t->pid == 0;
                alone &= t->pid == 0;
        }
        if (!waiting || strangers_kill(alone && getpid() == 1))
                return;
        FOR_EACH_TASK(t)
        if (t->pid == 0) {
                report(t);
                task_drop(t);
        }
}

void tasks_reap(void)
{
        refused_drain(); /* refused calls are reported before the end of the command */
        for (;;) {
                struct rusage usage;
                int status;
                pid_t pid = sys_wait(-1, &status, WNOHANG | WUNTRACED, &usage);
                if (pid <= 0)
                        break;
                struct task *task = find_pid(pid);
                if (WIFSTOPPED(status))
                        stopped(task);
                else if (task)
                        init_task_ended(task, status, &usage);
                else
                        charge_stranger(&usage);
        }
        init_task_sweep();
}

void tasks_announced(pid_t pid, int code)
{
        struct task *task = find_pid(pid);
        if (!task || !task->announces || task->kind != TASK_ALONE || tasks_count() > 1)
                return;
        refused_drain();
        task->status = (code & 255) << 8;
        task->cpu_us = cpu_us_so_far(pid);
        report(task);
}

static void signal_command(struct task *task, int signal)
{
        /* First store, then read; the command does it in the opposite order (supervise.c). */
        task->early_signal = signal;
        __sync_synchronize();
        pid_t command = task->memory ? task->command : task->pid;
        if (command == 0 || task->command_ended)
                return;
        if (sys_kill(-command, signal) == -ESRCH)
                sys_kill(command, signal);
}

void tasks_signal(const struct init_signal *request)
{
        if (request->target == 0) {
                if (getpid() == 1)
                        sys_kill(-1, request->signal);
                return;
        }
        struct task *task = find_tag(request->target);
        if (!task || task->pid == 0)
                return;
        if (request->signal == SIGKILL || task->kind == TASK_OPERATION)
                sys_kill(task->pid, request->signal);
        else
                signal_command(task, request->signal);
}
