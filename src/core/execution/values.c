/* core/execution/values.c -- the value of the last expression, for executions with `rich`.
 *
 * The driver of a context (snapshot/context.py, context.js) runs the code once and sends values as for a
 * context, through a socket that is descriptor 3.  The code shares its process, so nothing that it sends is
 * trusted: invalid data ends the reading, and the rest is left out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "core/execution/internal.h"
#include "snapshot/programs.h"
#include "wire/init.h"

#define READS_AT_ONCE 16

int execution_values_prepare(struct execution *ex)
{
        const struct exec_request *r = &ex->request;
        struct values *v = &ex->values;
        char *text = NULL;
        size_t len = 0;
        if (v->program || !exec_request_wants_value(r) ||
            (ex->kind != EXECUTION_PLAIN && ex->kind != EXECUTION_STREAMED))
                return 0;
        struct json j = {.out = open_memstream(&text, &len)};
        if (!j.out)
                return -ENOMEM;
        /* A string of JSON is also one of Python and JavaScript. */
        if (r->runtime[0] == 'p') {
                fputs("exec(", j.out);
                json_put_bytes(&j, NULL, snapshot_context_py, snapshot_context_py_len);
                fputs(", {\"__name__\": \"cella_rich\", \"MAIN\": globals(), \"SOURCE\": ", j.out);
                j.more = false;
                json_put_bytes(&j, NULL, r->code, r->code_len);
                fputs("})\n", j.out);
        } else {
                fputs("globalThis[Symbol.for('cella.once')] = ", j.out);
                json_put_bytes(&j, NULL, r->code, r->code_len);
                fputs(";\n", j.out);
                fwrite(snapshot_context_js, 1, snapshot_context_js_len, j.out);
        }
        if (fclose(j.out) != 0 || !text) {
                free(text);
                return -ENOMEM;
        }
        if (len > INIT_REQUEST_MAX - 1024) { /* it runs without */
                ex->results_truncated = true;
                free(text);
                return 0;
        }
        v->program = text;
        v->program_len = len;
        return 0;
}

const char *execution_text(const struct execution *ex, size_t *ret_len)
{
        *ret_len = ex->values.program ? ex->values.program_len : ex->request.code_len;
        return ex->values.program ? ex->values.program : ex->request.code;
}

void execution_add_result(struct execution *ex, char *json, size_t len)
{
        ex->results[ex->n_results] = json;
        ex->result_lens[ex->n_results++] = len;
        if (ex->events && ex->events->on_result)
                ex->events->on_result(ex, json, len, ex->context);
}

/* Returns the result with secrets masked; frees text. */
static char *mask_result(struct mask *mask, char *text, size_t *len)
{
        json_t *result = json_loadb(text, *len, JSON_ALLOW_NUL, NULL);
        const json_t *data = json_object_get(result, "data");
        const size_t size = json_string_length(data);
        char *copy = malloc(size + 1), *masked = NULL;
        free(text);
        if (result && data && copy) {
                memcpy(copy, json_string_value(data), size);
                json_object_set_new(result, "data", json_stringn(copy, mask_text(mask, copy, size)));
                masked = json_dumps(result, JSON_COMPACT);
        }
        free(copy);
        json_decref(result);
        *len = masked ? strlen(masked) : 0;
        return masked;
}

static int take_result(struct execution *ex, const char *body, size_t len)
{
        struct values *v = &ex->values;
        struct mask *mask = exec_request_mask(&ex->request);
        char *text = NULL;
        size_t text_len = 0;
        if (v->n == VALUES_MAX || v->bytes + len > VALUES_BYTES_MAX)
                return -E2BIG;
        int r = driver_read_result(body, len, &text, &text_len);
        if (r == 0 && mask && !(text = mask_result(mask, text, &text_len)))
                r = -ENOMEM;
        if (r < 0)
                return r;
        v->n++;
        v->bytes += text_len;
        execution_add_result(ex, text, text_len);
        return 0;
}

/* Returns false if there is nothing to read now.  Closes the socket at its end, and if the data is invalid.
 */
static bool execution_values_read_once(struct execution *ex)
{
        static char buffer[64 * 1024];
        struct values *v = &ex->values;
        const char *at = buffer, *why;
        ssize_t n = recv(v->fd, buffer, sizeof buffer, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
                return true;
        if (n < 0 && errno == EAGAIN)
                return false;
        size_t left = n > 0 ? (size_t)n : 0;
        int r = n > 0 ? 1 : 0;
        while (r > 0)
                if ((r = driver_frames_take(&v->frames, DRIVER_MAY(DRIVER_RESULT), &at, &left, &why)) > 0 &&
                    (r = take_result(ex, v->frames.body, v->frames.want)) == 0)
                        r = 1;
        ex->results_truncated |= r < 0;
        if (r < 0 || n <= 0)
                execution_values_close(ex);
        return v->fd >= 0;
}

static void on_readable(struct fd_poll *poll, int events)
{
        struct execution *ex = list_entry(poll, struct execution, values.poll);
        (void)events;
        execution_ref(ex);
        for (int i = 0; i < READS_AT_ONCE && ex->values.fd >= 0; i++)
                if (!execution_values_read_once(ex))
                        break;
        execution_unref(ex);
}

int execution_values_open(struct execution *ex, int *ret_theirs)
{
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        int r = fd_poll_start(&ex->values.poll, ex->core->loop, pair[0], UV_READABLE, on_readable);
        if (r < 0) {
                close(pair[0]);
                close(pair[1]);
                return r;
        }
        ex->values.fd = pair[0];
        *ret_theirs = pair[1];
        return 0;
}

void execution_values_drain(struct execution *ex)
{
        const size_t until = ex->values.bytes + VALUES_BYTES_MAX;
        while (ex->values.fd >= 0 && ex->values.bytes < until && execution_values_read_once(ex))
                continue;
}

void execution_values_close(struct execution *ex)
{
        const struct driver_frames *f = &ex->values.frames;
        /* The process ended in the middle of a result. */
        ex->results_truncated |= f->in_body ? f->have < f->want : f->header_len > 0;
        if (ex->values.fd >= 0)
                fd_poll_close(&ex->values.poll, TAKE_FD(ex->values.fd));
        driver_frames_done(&ex->values.frames);
}
