/* init/strangers.h -- kills children of init that are not tasks: the remaining processes of ended
 * commands. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

/* Whether init started this process. */
bool task_has_pid(pid_t pid);

/* Sets the descriptor of a /proc that shows all processes. */
void strangers_see_all(int proc);

/* Makes one pass: sends SIGKILL to each stranger and to its descendants as far as they can be found.
 * Returns true if there was one; then a SIGCHLD will follow, which is the time for the next pass.
 * everyone: no task is left, either. */
bool strangers_kill(bool everyone);
