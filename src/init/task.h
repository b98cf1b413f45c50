/* init/task.h -- the running commands and file operations.
 *
 * There are three kinds, depending on the process that is the child of init:
 *
 *   TASK_ALONE      the command itself.  No other command runs beside it, so its end is that of every
 * process, which one kill(-1) causes.  If a program has to run first (first.c), it has a supervisor.
 *   TASK_COMMAND    its supervisor (supervise.c).  Orphans of the command become children of the supervisor
 *                   while it lives, and of init afterwards.  So a child of init that is not a task always
 *                   belongs to a command that has ended, never to a running one.
 *   TASK_OPERATION  a helper (operate.c), which starts no processes.
 *
 * Nothing here waits for a process to die, except when all must. A process that takes long to die delays
 * only the report about its own command and about commands that end in the meantime (the remaining
 * processes could be theirs). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct init_room;
struct init_signal;
struct rusage;

enum task_kind { TASK_NONE, TASK_ALONE, TASK_COMMAND, TASK_OPERATION };

struct task {
        enum task_kind kind;
        uint32_t tag;
        pid_t pid; /* of our child; 0: it has died, and its remaining processes are being killed */
        int status;
        uint64_t cpu_us, rss_peak_bytes;
        void *memory; /* of the supervisor: freed when no process can use it */
        size_t memory_len;
        bool final;     /* init exits with this task */
        bool lists;     /* INIT_LIST_ADDED */
        bool announces; /* INIT_ANNOUNCES */
        bool reported;  /* it has announced its end, and the owner was informed */
        /* Written by the supervisor, which shares our memory. */
        volatile bool command_ended;
        volatile int command_status;
        volatile pid_t command; /* 0: not started yet */
        volatile int failure;   /* -errno: the command could not be started */
        volatile int
                early_signal; /* a signal that arrived before the command was started, for the supervisor */
};

/* Gets a free slot. -EINVAL: tag 0; -EEXIST: the tag is in use; -EBUSY: a command that is, or must be,
 * alone; -EAGAIN: too many tasks. */
int task_new(enum task_kind kind, uint32_t tag, struct task **ret);
void task_drop(struct task *task); /* frees the slot of a task that did not start */

unsigned tasks_count(void);

/* Sets the disk limit of the sandbox, by which its volume is recognised. */
void tasks_limit_disk(uint64_t bytes);
/* Reads the free space of the writable file systems. */
void tasks_room(struct init_room *ret);

/* Reaps dead children, kills the remaining processes of ended commands, and reports commands that have
 * none left. */
void tasks_reap(void);

/* A child of ours, or a process on its behalf, announces that it exits with this code. */
void tasks_announced(pid_t pid, int code);

void tasks_signal(const struct init_signal *request);
