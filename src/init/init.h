/* init/init.h -- PID 1 of a sandbox: what its files share. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "wire/init.h"
#include "wire/message.h"

/* Raises the walls as the INIT_BUILD in data says.  Sets ret->walls, and in ret->cpu_us the CPU time that was
 * used before the sandbox's control groups counted it. */
int build(const struct message *message, char *data, struct init_ready *ret, struct cella_err *err);

/* In a container: connects to the owner's socket, which is INIT_CONTROL_FD then; and sees to the walls, as
 * the INIT_JOIN in data says. */
int join_connect(const char *path);
int join_tell_place(void); /* the answer to INIT_PLACE */
int join(const struct message *message, const char *data, struct init_ready *ret, struct cella_err *err);

void reply(enum init_reply type, uint32_t tag, const void *data, size_t len);
void reply_failed(uint32_t tag, enum cella_kind kind, int num, const char *what);

/* Writes a file in /run. */
int put_file(const char *data, size_t len);

/* Sends an INIT_FILE for each file of the workspace that changed, then INIT_DONE.  hurry: others
 * are waiting for us. */
void list_files(uint32_t tag, const struct init_list *request, bool hurry);
/* The same of all files; but if there is none, nothing is sent, and the answer is true.
 * files_look_ahead(): for before somebody waits for that. */
bool list_none(uint32_t tag, bool hurry);
void files_look_ahead(void);
