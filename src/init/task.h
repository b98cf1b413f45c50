/* init/task.h -- the commands and file operations that are going on.
 *
 * Three kinds, by who our child is:
 *   TASK_ALONE      the command itself.  No other command runs beside it, so its end is that of
 *                   every process, which one kill(-1) brings about.  If something has to run first
 *                   (first.c), it has a supervisor all the same.
 *   TASK_COMMAND    its supervisor (supervise.c).  What the command leaves behind falls to the
 *                   supervisor while that lives, and to us when it is gone.  So whatever is our child
 *                   without being a task belongs to a command that has ended, however it hid,
 *                   and never to one that goes on.
 *   TASK_OPERATION  a helper (operate.c), which starts nothing.
 *
 * Nothing here waits for a process to die, except when all must: one that takes long, or hangs in the
 * kernel, holds up the answer about its own command and about those that end meanwhile (what is left
 * could be theirs), and nothing else. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct init_signal;
struct rusage;

enum task_kind { TASK_NONE, TASK_ALONE, TASK_COMMAND, TASK_OPERATION };

struct task {
        enum task_kind kind;
        uint32_t tag;
        pid_t pid; /* of our child; 0: it is gone, and what it left is being killed */
        int status;
        uint64_t cpu_us, rss_peak_bytes;
        void *memory; /* what a supervisor lives on: freed when nobody can be in it any more */
        size_t memory_len;
        bool final;     /* we end with it */
        bool lists;     /* INIT_LIST_ADDED */
        bool announces; /* INIT_ANNOUNCES */
        bool told;      /* it has announced its end, and its owner knows */
        /* Written by the supervisor, which shares our memory. */
        volatile bool command_ended;
        volatile int command_status;
        volatile pid_t command;    /* 0: not there yet */
        volatile int failure;      /* -errno: it could not be started */
        volatile int early_signal; /* for the supervisor: it came before the command was there */
};

/* A free slot.  -EINVAL: tag 0; -EEXIST: the tag is in use; -EBUSY: a command that is or wants to be
 * alone; -EAGAIN: too many. */
int task_new(enum task_kind kind, uint32_t tag, struct task **ret);
void task_drop(struct task *task); /* it did not start */

unsigned tasks_count(void);

/* The limit on disk space of the sandbox, by which its volume is recognized. */
void tasks_limit_disk(uint64_t bytes);

/* Takes the dead, kills what they left, and tells of those of whom nothing is left. */
void tasks_reap(void);

/* One of our children, or somebody in its name, says that it ends with this exit code. */
void tasks_announced(pid_t pid, int code);

void tasks_signal(const struct init_signal *request);
