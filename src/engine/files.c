#include "engine/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "wire/init.h"
#include "wire/message.h"

#define LIST_PATIENCE_US 2000000

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
