/* test/fuzz/exec_request.c -- a body for /v1/exec, from its bytes to what the core makes of it. */
#include "core/request/request.h"
#include "fuzz.h"

static volatile size_t sum;

static void read_all(const char *data, size_t len)
{
        for (size_t i = 0; i < len; i++)
                sum += (unsigned char)data[i];
}

static void read_list(const char *const *list)
{
        for (; list && *list; list++)
                read_all(*list, strlen(*list));
}

static void look_at(const struct exec_request *r)
{
        /* Code with its runtime, or a command, or neither: then the image's own command is run. */
        if (r->runtime ? !r->code : r->code || (!r->argv && (!r->image || !strcmp(r->image, "host"))))
                abort();
        if (r->code)
                read_all(r->code, r->code_len);
        if (r->input)
                read_all(r->input, r->input_len);
        read_list(r->argv);
        read_list(r->env);
        for (size_t i = 0; i < r->n_files; i++) {
                read_all(r->files[i].path, strlen(r->files[i].path));
                read_all(r->files[i].data, r->files[i].len);
        }
        read_all(r->log_input, r->log_input_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct cella_err err = {0};
        struct cella_limits limits;
        struct exec_request request;
        struct core_sandbox sandbox = {0};
        json_t *body = NULL;
        if (size < 1)
                return 0;
        const struct field *fields = data[0] & 1 ? exec_fields() : sandbox_exec_fields();
        char *text = malloc(size);
        memcpy(text, data + 1, size - 1);
        text[size - 1] = '\0';
        if (schema_parse(fields, text, size - 1, &body, &err) == 0) {
                cella_limits_default(&sandbox.limits);
                if (exec_request_from(body, &request, &err) == 0) {
                        look_at(&request);
                        exec_request_limits(&request, &sandbox, &limits, &err);
                        exec_request_done(&request);
                }
        }
        if (strnlen(err.msg, sizeof err.msg) == sizeof err.msg)
                abort();
        free(text);
        return 0;
}
