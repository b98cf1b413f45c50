/* front/tools/modules.c -- the secrets of a tool call.  The tables of the tools check the arguments before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "front/tools/internal.h"

/* Hands the handles on to the request for the box, which is `document` (as POST /v1/exec takes it): its table
 * checks them, and exec_request_grant() opens them. */
int tool_secrets(const struct tool_call *call, json_t *document, struct cella_err *err)
{
        json_t *secrets = json_object_get(call->arguments, "secrets");
        if (json_object_size(secrets) == 0 || json_object_set(document, "secrets", secrets) == 0)
                return 0;
        return err_set(err, CELLA_INTERNAL, -ENOMEM, "secrets");
}
