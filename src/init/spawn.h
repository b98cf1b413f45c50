/* init/spawn.h -- starting a command. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "init/request.h"

struct message;
struct task;

/* Carries out INIT_SPAWN.  0, and the task is under way (with a supervisor: whether the command
 * could be executed is told when that ends), or -errno. */
int spawn(const struct message *message, char *data);

/* A command on its own: a child of ours. */
int spawn_alone(struct task *task, struct request_spawn *what);

/* A command with a supervisor.  Copies data, which what was read from. */
int spawn_supervised(struct task *task, const struct request_spawn *what, const char *data, size_t len);

/* In a child that shares our memory: puts its descriptors and directory right; then turns into the command.
 * Return -errno if that fails.  *ret_program: a program that came as a descriptor; untouched if none did. */
int spawn_prepare(const struct request_spawn *what, int *ret_program);
int spawn_become(const struct request_spawn *what, int program);

bool spawn_finds(const char *program, char **env); /* env's PATH has it */

/* execve() that looks for argv[0] in env's PATH. */
int spawn_exec(char **argv, char **env);

/* On a terminal instead of descriptors. */
void request_use_terminal(struct request_spawn *what, int slave);

/* Says INIT_STARTED, if it was asked for.  master: of its terminal, or -1. */
void spawn_tell(uint32_t tag, const struct request_spawn *what, pid_t pid, int master);
