#include "cli/run/report.h"

#include "base/json.h"
#include "engine/result.h"

void report_result(const struct cella_result *r, const char *runtime, const struct cella_isolation *isolation)
{
        struct json j = {.out = stdout};
        result_write(&j, r, &(struct result_about){.runtime = runtime, .isolation = isolation}, 0);
        putchar('\n');
}

void report_error(const struct cella_err *err)
{
        struct json j = {.out = stdout};
        json_put_open(&j, NULL, '{');
        json_put_open(&j, "error", '{');
        json_put_string(&j, "kind", cella_kind_name(err->kind));
        json_put_string(&j, "message", err->msg);
        json_put_string(&j, "hint", err->hint);
        json_put_close(&j, '}');
        json_put_close(&j, '}');
        putchar('\n');
}
