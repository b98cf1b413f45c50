/* init/spawn.h -- starts commands. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "init/request.h"

struct message;
struct task;

/* Carries out INIT_SPAWN. Returns 0 if the task was started, or -errno. With a supervisor, a failure to
 * execute the command is reported when the supervisor ends. */
int spawn(const struct message *message, char *data);

/* Starts the only command of the sandbox, as a child of init. */
int spawn_alone(struct task *task, struct request_spawn *what);

/* Starts a command with a supervisor. Copies data, into which *what points. */
int spawn_supervised(struct task *task, const struct request_spawn *what, const char *data, size_t len);

/* Both run in a child that shares init's memory: spawn_prepare() sets up descriptors and directory,
 * spawn_become() executes the command. They return -errno on failure. *ret_program: a program that was
 * passed as a descriptor; unchanged if there is none. */
int spawn_prepare(const struct request_spawn *what, int *ret_program);
int spawn_become(const struct request_spawn *what, int program);

bool spawn_finds(const char *program, char **env); /* whether the program is in the PATH of env */

/* execve() that searches argv[0] in the PATH of env. */
int spawn_exec(char **argv, char **env);

/* Connects the command to a terminal instead of descriptors. */
void request_use_terminal(struct request_spawn *what, int slave);

/* Sends INIT_STARTED if it was requested. master: of the terminal, or -1. */
void spawn_report(uint32_t tag, const struct request_spawn *what, pid_t pid, int master);
