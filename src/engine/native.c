/* engine/native.c -- the library's face: sandboxes of the native engine. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "cella.h"
#include "engine/isolation.h"
#include "engine/outlet.h"
#include "engine/run.h"
#include "engine/testing.h"
#include "keeper/sandbox.h"

struct cella_sandbox {
        struct sandbox *keeper;
        struct outlet *outlet; /* NULL: it has no network */
};

/* A caller may not care for the reason; inside, everybody may count on there being a place for it. */
static struct cella_err *place(struct cella_err *err, struct cella_err *spare)
{
        struct cella_err *e = err ? err : spare;
        memset(e, 0, sizeof *e);
        return e;
}

int testing_sandbox_new(const struct cella_options *options, uint32_t walls_down, struct cella_sandbox **ret,
                        struct cella_err *err)
{
        struct cella_err spare;
        err = place(err, &spare);
        struct cella_sandbox *s = calloc(1, sizeof *s);
        if (!s)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "sandbox");
        /* The process starts while the walls are being raised. */
        int r = options->network.tier == CELLA_RESTRICTED ? 0
                                                          : outlet_new(&options->network, &s->outlet, err);
        if (r == 0)
                r = sandbox_new(options, walls_down, &s->keeper, err);
        if (r < 0) {
                outlet_free(s->outlet);
                free(s);
                return r;
        }
        *ret = s;
        return 0;
}

int cella_sandbox_new(const struct cella_options *options, struct cella_sandbox **ret, struct cella_err *err)
{
        return testing_sandbox_new(options, 0, ret, err);
}

struct cella_sandbox *cella_sandbox_free(struct cella_sandbox *sandbox)
{
        if (!sandbox)
                return NULL;
        outlet_end(sandbox->outlet); /* while the sandbox dies */
        sandbox_free(sandbox->keeper);
        outlet_free(sandbox->outlet);
        free(sandbox);
        return NULL;
}

const char *cella_sandbox_id(const struct cella_sandbox *sandbox)
{
        return sandbox->keeper->id;
}

void cella_sandbox_isolation(const struct cella_sandbox *sandbox, struct cella_isolation *ret)
{
        isolation_fill(sandbox->keeper->walls, sandbox->keeper->missing, ret);
}

int cella_run(struct cella_sandbox *sandbox, const struct cella_command *command, struct cella_result *ret,
              struct cella_err *err)
{
        struct cella_err spare;
        err = place(err, &spare);
        if (sandbox->keeper->pid <= 0)
                return err_say(err, CELLA_NOT_FOUND, -ESRCH, "the sandbox has ended");
        return run_command(sandbox->keeper, sandbox->outlet, command, ret, err);
}

void cella_result_done(struct cella_result *result)
{
        for (int i = 0; i < 2; i++)
                free(result->output[i]);
        for (size_t i = 0; i < result->n_files; i++)
                free((char *)result->files[i].path);
        free(result->files);
        free(result->violations);
        memset(result, 0, sizeof *result);
}
