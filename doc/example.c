/* example.c -- make a sandbox, run code in it, read the result.
 *
 *      cc example.c $(pkg-config --cflags --libs cella) && ./a.out */
#include <cella.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
        const char *code = "import os; print('hello from uid', os.getuid())";
        struct cella_options options;
        struct cella_sandbox *sandbox = NULL;
        struct cella_result result;
        struct cella_err err;

        cella_options_default(&options);
        options.limits.memory_bytes = 256 << 20;
        options.limits.timeout_ms = 5000;
        if (cella_sandbox_new(&options, &sandbox, &err) < 0) {
                fprintf(stderr, "%s; %s\n", err.msg, err.hint);
                return 1;
        }
        struct cella_command command = {
                .runtime = "python3",
                .code = code,
                .code_len = strlen(code),
                .stdin_fd = -1,
                .cancel_fd = -1,
        };
        if (cella_run(sandbox, &command, &result, &err) < 0) {
                fprintf(stderr, "%s; %s\n", err.msg, err.hint);
                cella_sandbox_free(sandbox);
                return 1;
        }
        printf("%s, exit code %d, %.1f ms: ", cella_status_name(result.status), result.exit_code,
               (double)result.duration_us / 1000);
        fwrite(result.output[CELLA_STDOUT], 1, result.output_len[CELLA_STDOUT], stdout);
        cella_result_done(&result);
        cella_sandbox_free(sandbox);
        return 0;
}
