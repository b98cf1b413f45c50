/* init/init.h -- functions shared by the files of init, PID 1 of a sandbox. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "wire/init.h"
#include "wire/message.h"

/* Sets up the walls as described by the INIT_BUILD in data. Sets ret->walls, and ret->cpu_us to the CPU
 * time that was used before the sandbox's control groups counted it. */
int build(const struct message *message, char *data, struct init_ready *ret, struct cella_err *err);

/* In a container: join_connect() connects to the owner's socket, which becomes INIT_CONTROL_FD; join()
 * sets up the walls as described by the INIT_JOIN in data. */
int join_connect(const char *path);
int join_report_place(void); /* answers INIT_PLACE */
int join(const struct message *message, const char *data, struct init_ready *ret, struct cella_err *err);

void reply(enum init_reply type, uint32_t tag, const void *data, size_t len);
void reply_failed(uint32_t tag, enum cella_kind kind, int num, const char *what);

/* Writes a file in /run. */
int put_file(const char *data, size_t len);

/* Sends an INIT_FILE for each changed file of the workspace, then INIT_DONE. hurry: other requests are
 * waiting. */
void list_files(uint32_t tag, const struct init_list *request, bool hurry);
/* The same for all files. If there is none, sends nothing and returns true. files_look_ahead() prepares
 * this before it is needed. */
bool list_none(uint32_t tag, bool hurry);
void files_look_ahead(void);
