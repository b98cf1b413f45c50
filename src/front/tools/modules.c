/* front/tools/modules.c -- what other modules decide about: secrets, and which imports code may have.
 * Arguments are checked by the tools' tables before. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "front/tools/parts.h"

/* Hands the handles on to the request for the box, which is `document` (as POST /v1/exec takes it): its table
 * checks them, and exec_request_grant() opens them. */
int tool_secrets(const struct tool_call *call, json_t *document, struct cella_err *err)
{
        json_t *secrets = json_object_get(call->arguments, "secrets");
        if (json_object_size(secrets) == 0 || json_object_set(document, "secrets", secrets) == 0)
                return 0;
        return err_set(err, CELLA_INTERNAL, -ENOMEM, "secrets");
}

/* CELLA_SCAN_REFUSED with line and construct if the code imports what "allowed_imports" has not. */
int tool_imports(const struct tool_call *call, const char *code, struct cella_err *err)
{
        struct exec_request request = {.runtime = "python3",
                                       .code = code,
                                       .code_len = strlen(code),
                                       .allowed_imports =
                                               json_object_get(call->arguments, "allowed_imports")};
        int r = exec_request_scan_now(call->box, &request, err);
        free(request.report);
        return r;
}
