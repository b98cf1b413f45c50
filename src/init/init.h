/* init/init.h -- PID 1 of a sandbox: what its files share. */
#pragma once
#include <stdbool.h>

#include "wire/init.h"
#include "wire/message.h"

/* Raises the walls as the INIT_BUILD in data says; *ret_walls are those that stand. */
int build(const struct message *message, char *data, uint32_t *ret_walls, struct cella_err *err);

/* Starts the command; its descriptors are message->fds.  Returns its pid or -errno.  *ret_final: nothing
 * comes after it. */
int spawn(const struct message *message, char *data, bool *ret_final);

/* Writes a file in /run. */
int put_file(const struct message *message, const char *data);

/* Sends an INIT_FILE for each file of the workspace that changed, then INIT_DONE. */
void list_files(const struct init_list *request);
