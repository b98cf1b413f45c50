/* init/operate.c -- starts the helper process of a file operation.
 *
 * It uses a real fork, unlike a supervisor: the helper parses untrusted bytes (an archive) and has large
 * buffers. */
#include "init/operate.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>

#include "init/data.h"
#include "init/init.h"
#include "init/task.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

static const struct {
        int (*run)(const struct request_operate *request);
        bool has_data;
} operations[] = {
        [INIT_READ] = {operate_read, true},          [INIT_WRITE] = {operate_write, true},
        [INIT_STAT] = {operate_stat, true},          [INIT_READ_DIR] = {operate_read_dir, true},
        [INIT_MAKE_DIR] = {operate_make_dir, false}, [INIT_MOVE] = {operate_move, false},
        [INIT_REMOVE] = {operate_remove, false},     [INIT_TAR] = {operate_tar, true},
        [INIT_UNTAR] = {operate_untar, true},        [INIT_WATCH] = {operate_watch, true},
};

/* In the helper: keeps only its own descriptor. The others belong to init and would keep pipes open. */
static int init_operate_run(const struct request_operate *request, const struct message *message)
{
        int r = 0;
        if (message->n_fds > 0)
                r = sys_dup3(message->fds[0], DATA_FD, O_CLOEXEC);
        else
                sys_close(DATA_FD);
        sys_close_range(DATA_FD + 1, ~0u, 0);
        sys_umask(0); /* files get exactly the requested mode */
        if (r >= 0)
                r = sys_chdir("/workspace");
        if (r >= 0)
                r = operations[request->head.operation].run(request);
        return r >= 0 ? data_flush() : r;
}

int operate(const struct message *message, const char *data)
{
        struct request_operate request;
        struct task *task;
        uint64_t signals;
        int r = request_operate(data, message->len, &request);
        if (r < 0)
                return r;
        if (message->n_fds > 1 || (message->n_fds == 0 && operations[request.head.operation].has_data))
                return -EPROTO;
        if ((r = task_new(TASK_OPERATION, message->tag, &task)) < 0)
                return r;
        /* Only SIGKILL ends the helper; writing to a closed stream is -EPIPE. */
        sys_block_signals(&signals);
        pid_t pid = (pid_t)sys_call5(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) {
                r = init_operate_run(&request, message);
                sys_exit(r < 0 ? -r : 0);
        }
        sys_restore_signals(&signals);
        if (pid < 0) {
                task_drop(task);
                return pid;
        }
        task->pid = pid;
        return 0;
}
