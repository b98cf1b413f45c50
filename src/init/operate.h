/* init/operate.h -- operations on files, each in its own process. */
#pragma once
#include "init/request.h"

struct message;

/* Carries out INIT_OPERATE. Returns 0 if the task was started, or -errno. */
int operate(const struct message *message, const char *data);

/* The operations of the helper, see wire/init.h. The working directory is the workspace, the stream to the
 * owner is that of data.h. Each returns 0 or -errno. */
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
