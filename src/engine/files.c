#include "engine/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "sys/file.h"
#include "sys/process.h"
#include "wire/init.h"
#include "wire/message.h"

#define LIST_PATIENCE_US 2000000
#define GET_PATIENCE_US 30000000 /* without any data */

int files_keep(struct cella_result *result, const char *data, size_t len)
{
        struct init_file head;
        if (len < sizeof head || result->n_files == INIT_FILES_MAX)
                return -EPROTO;
        if (!result->files) {
                result->files = calloc(INIT_FILES_MAX, sizeof *result->files);
                if (!result->files)
                        return -ENOMEM;
        }
        memcpy(&head, data, sizeof head);
        char *path = strndup(data + sizeof head, len - sizeof head);
        if (!path)
                return -ENOMEM;
        result->files[result->n_files++] = (struct cella_file){
                .path = path, .change = head.added ? "added" : "modified", .bytes = head.bytes};
        return 0;
}

int files_list(struct sandbox *sandbox, const struct timespec *since, struct cella_result *result,
               struct cella_err *err)
{
        struct init_list request = {
                .since_ns = (uint64_t)since->tv_sec * 1000000000u + (uint64_t)since->tv_nsec,
                .all_added = !sandbox->host_workspace && !sandbox->used,
        };
        char data[INIT_REPLY_MAX];
        struct message m;
        const int64_t until = clock_us() + LIST_PATIENCE_US;
        if (sandbox->cgroup)
                cgroup_unthrottle(sandbox->cgroup); /* from here init works, not the code */
        int r = message_send(sandbox->control, INIT_LIST, 1, NULL, 0, &request, sizeof request, NULL, 0);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot ask for the changed files");
        while ((r = message_receive(sandbox->control, &m, data, sizeof data)) > 0) {
                if (m.type == INIT_DONE) {
                        uint32_t incomplete = 0;
                        memcpy(&incomplete, data, m.len < sizeof incomplete ? m.len : sizeof incomplete);
                        result->files_truncated = incomplete != 0;
                        return 0;
                }
                message_close_fds(&m);
                if (m.type != INIT_FILE || (r = files_keep(result, data, m.len)) < 0)
                        break;
                if (clock_us() > until) {
                        /* Too slow.  End the sandbox, because init may still be sending. */
                        result->files_truncated = true;
                        sandbox_reap(sandbox);
                        return 0;
                }
        }
        return err_say(err, CELLA_INTERNAL, r < 0 ? r : -EPROTO, "the list of changed files is incomplete");
}

static int files_cannot(struct cella_err *err, int r, const char *path)
{
        return err_set(err, CELLA_INTERNAL, r < 0 ? r : -EPROTO, "cannot read '%.100s' in the sandbox", path);
}

/* Waits for data.  Returns what read() returns, or -ETIMEDOUT. */
static ssize_t files_await(int fd, char *data, size_t size)
{
        struct pollfd ready = {fd, POLLIN, 0};
        const int n = sys_poll(&ready, 1, GET_PATIENCE_US);
        return n > 0 ? sys_read(fd, data, size) : -ETIMEDOUT;
}

/* Reads what the operation sends: first a struct init_stat. */
static int files_receive(int fd, const char *path, struct init_stat *ret,
                         int (*on_data)(void *userdata, const char *data, size_t len), void *userdata,
                         struct cella_err *err)
{
        struct init_stat head;
        char data[16384];
        size_t have = 0;
        for (;;) {
                ssize_t n = files_await(fd, data, have < sizeof head ? sizeof head - have : sizeof data);
                if (n < 0)
                        return files_cannot(err, (int)n, path);
                if (n == 0)
                        break;
                if (have < sizeof head) {
                        memcpy((char *)&head + have, data, (size_t)n);
                        have += (size_t)n;
                } else if (on_data) {
                        const int r = on_data(userdata, data, (size_t)n);
                        if (r < 0)
                                return r;
                }
        }
        if (have == sizeof head && ret)
                *ret = head;
        return 0;
}

int files_get(struct sandbox *sandbox, uint32_t operation, const char *path, struct init_stat *ret,
              int (*on_data)(void *userdata, const char *data, size_t len), void *userdata,
              struct cella_err *err)
{
        const struct init_operate what = {.operation = operation, .length = UINT64_MAX};
        struct pollfd answer = {sandbox->control, POLLIN, 0};
        struct init_exited exited;
        struct message m = {0};
        char data[INIT_REPLY_MAX], paths[INIT_PATH_MAX + 1] = "";
        const size_t len = strlen(path);
        int pipes[2], r;
        if (len >= INIT_PATH_MAX)
                return files_cannot(err, -ENAMETOOLONG, path);
        if ((r = sys_pipe2(pipes, 0)) < 0)
                return files_cannot(err, r, path);
        snprintf(paths, sizeof paths, "%s", path); /* the second path is empty */
        r = message_send(sandbox->control, INIT_OPERATE, 1, &pipes[1], 1, &what, sizeof what, paths, len + 2);
        sys_close(pipes[1]);
        if (r == 0)
                r = files_receive(pipes[0], path, ret, on_data, userdata, err);
        else
                files_cannot(err, r, path);
        sys_close(pipes[0]);
        if (r < 0)
                return r;
        do { /* a message with tag 0 reports a refused call */
                if (sys_poll(&answer, 1, GET_PATIENCE_US) <= 0 ||
                    message_receive(sandbox->control, &m, data, sizeof data) <= 0)
                        return files_cannot(err, -EPIPE, path);
                message_close_fds(&m);
        } while (m.tag == 0);
        if (m.type != INIT_EXITED || m.len != sizeof exited)
                return files_cannot(err, -EPROTO, path);
        memcpy(&exited, data, sizeof exited);
        return exited.wait_status == 0 ? 0 : files_cannot(err, -(exited.wait_status >> 8 & 0xff), path);
}
