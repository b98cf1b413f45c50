/* front/tools/modules.c -- what other modules decide about: secrets, and which imports code may have.
 *
 * INTEGRATE(secrets), INTEGRATE(scan): the two functions are the only places that know whether these are
 * there.  Arguments are checked by the tools' tables before. */
#include <errno.h>

#include "base/err.h"
#include "front/tools/parts.h"

/* INTEGRATE(secrets): puts what "secrets" ({ENV: "{{secret:name}}" or a name}) asks for into the request for
 * the box, which is `document` (as POST /v1/exec takes it); nothing is run if one is not known. */
int tool_secrets(const struct tool_call *call, json_t *document, struct cella_err *err)
{
        (void)document;
        if (json_object_size(json_object_get(call->arguments, "secrets")) == 0)
                return 0;
        return err_say(err, CELLA_ENGINE_UNAVAILABLE, -ENOTSUP, "secrets are not available here");
}

/* INTEGRATE(scan): CELLA_SCAN_REFUSED with line and construct if the code imports what "allowed_imports" has
 * not. */
int tool_imports(const struct tool_call *call, const char *code, struct cella_err *err)
{
        (void)code;
        if (!json_object_get(call->arguments, "allowed_imports"))
                return 0;
        return err_say(err, CELLA_ENGINE_UNAVAILABLE, -ENOTSUP, "allowed_imports is not available here");
}
