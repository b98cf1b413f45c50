/* init/strangers.h -- children of ours that are no task: what ended commands left. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

/* Whether it is one that we started. */
bool task_has_pid(pid_t pid);

/* From here on /proc is looked at through this descriptor, where no process hides. */
void strangers_see_all(int proc);

/* One pass: SIGKILL to each of them, and to what is below them as far as we see it.  True if there was
 * one; then there will be a SIGCHLD too, and it is time for the next pass.  everyone: no task is left
 * either. */
bool strangers_kill(bool everyone);
