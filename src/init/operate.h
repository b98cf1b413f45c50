/* init/operate.h -- operations on files, each in a process of its own. */
#pragma once
#include "init/request.h"

struct message;

/* Carries out INIT_OPERATE.  0, and the task is under way, or -errno. */
int operate(const struct message *message, const char *data);

/* What the helper does, one function an operation; see wire/init.h.  The working directory is the
 * workspace, the owner's descriptor is that of data.h.  Each returns 0 or -errno. */
int operate_read(const struct request_operate *request);
int operate_write(const struct request_operate *request);
int operate_stat(const struct request_operate *request);
int operate_read_dir(const struct request_operate *request);
int operate_make_dir(const struct request_operate *request);
int operate_move(const struct request_operate *request);
int operate_remove(const struct request_operate *request);
int operate_tar(const struct request_operate *request);
int operate_untar(const struct request_operate *request);
int operate_watch(const struct request_operate *request);
