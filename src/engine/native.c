/* engine/native.c -- the library's public functions: sandboxes of the native engine. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "cella.h"
#include "engine/docker.h"
#include "engine/files.h"
#include "engine/outlet.h"
#include "engine/result.h"
#include "engine/run.h"
#include "engine/testing.h"
#include "image/store/store.h"
#include "keeper/spawn/assemble.h"
#include "keeper/spawn/image_root.h"
#include "sys/file.h"
#include "wire/init.h"

struct cella_sandbox {
        struct sandbox *keeper;
        struct outlet *outlet; /* NULL: it has no network */
        struct image *image;   /* NULL: a view of this machine */
};

/* The caller may pass NULL as err; internal functions need a valid pointer. */
static struct cella_err *native_place(struct cella_err *err, struct cella_err *spare)
{
        struct cella_err *e = err ? err : spare;
        memset(e, 0, sizeof *e);
        return e;
}

/* Finds the image by its name and opens its root. */
static int open_image(const char *name, struct cella_sandbox *s, struct sandbox_image *ret,
                      char path[IMAGE_ROOT_PATH], struct cella_err *err)
{
        char store[IMAGE_ROOT_PATH];
        if (!name || !strcmp(name, IMAGE_HOST))
                return 0;
        int r = image_store_path(NULL, store, sizeof store, err);
        if (r == 0)
                r = image_find(store, name, &s->image, err);
        if (r < 0 || !s->image)
                return r;
        r = ret->fd = image_root_open(store, s->image->id, -1, path, err);
        ret->root = path;
        ret->uid = s->image->uid;
        ret->gid = s->image->gid;
        return r < 0 ? r : 0;
}

static int native_make(const struct cella_options *options, uint32_t walls_down, struct cella_sandbox *s,
                       struct cella_err *err)
{
        char path[IMAGE_ROOT_PATH];
        struct sandbox_image image = {.fd = -1};
        struct sandbox_parts parts = SANDBOX_PARTS_NONE;
        parts.network = options->network.tier != CELLA_RESTRICTED;
        int r = 0;
        if (options->engine && strcmp(options->engine, "native") != 0) {
                if (parts.network)
                        r = outlet_new(&options->network, &s->outlet, err);
                return r < 0 ? r : docker_sandbox_new(options, &s->keeper, &s->image, err);
        }
        r = open_image(options->image, s, &image, path, err);
        /* The egress process starts while the sandbox is being set up. */
        if (r == 0 && parts.network)
                r = outlet_new(&options->network, &s->outlet, err);
        parts.image = s->image ? &image : NULL;
        if (r == 0)
                r = sandbox_assemble(options, &parts, walls_down, &s->keeper, err);
        sys_close(image.fd); /* the sandbox has its own copy */
        return r;
}

int testing_sandbox_new(const struct cella_options *options, uint32_t walls_down, struct cella_sandbox **ret,
                        struct cella_err *err)
{
        struct cella_err spare;
        err = native_place(err, &spare);
        struct cella_sandbox *s = calloc(1, sizeof *s);
        if (!s)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "sandbox");
        int r = native_make(options, walls_down, s, err);
        if (r < 0) {
                outlet_free(s->outlet);
                image_free(s->image);
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
        outlet_end(sandbox->outlet); /* in parallel with the sandbox */
        sandbox_free(sandbox->keeper);
        outlet_free(sandbox->outlet);
        image_free(sandbox->image);
        free(sandbox);
        return NULL;
}

/* The listeners of the sandbox end with the process that has them, and there is no other way out. */
void cella_sandbox_close_network(struct cella_sandbox *sandbox)
{
        sandbox->outlet = outlet_free(sandbox->outlet);
        sandbox->keeper->network = false;
}

const char *cella_sandbox_id(const struct cella_sandbox *sandbox)
{
        return sandbox->keeper->id;
}

void cella_sandbox_isolation(const struct cella_sandbox *sandbox, struct cella_isolation *ret)
{
        isolation_fill(sandbox->keeper->walls, sandbox->keeper->missing, ret);
        if (sandbox->keeper->remote) /* init does not know the engine */
                ret->engine = docker_sandbox_engine(sandbox->keeper);
}

int cella_run(struct cella_sandbox *sandbox, const struct cella_command *command, struct cella_result *ret,
              struct cella_err *err)
{
        struct cella_err spare;
        err = native_place(err, &spare);
        if (sandbox_has_ended(sandbox->keeper))
                return err_say(err, CELLA_NOT_FOUND, -ESRCH, "the sandbox has ended");
        return run_command(sandbox->keeper, sandbox->outlet, sandbox->image, command, ret, err);
}

int cella_file_mode(struct cella_sandbox *sandbox, const char *path, unsigned *ret, struct cella_err *err)
{
        struct cella_err spare;
        struct init_stat st = {0};
        int r = files_get(sandbox->keeper, INIT_STAT, path, &st, NULL, NULL, native_place(err, &spare));
        if (r == 0)
                *ret = st.mode;
        return r;
}

int cella_file_read(struct cella_sandbox *sandbox, const char *path,
                    int (*on_data)(void *userdata, const char *data, size_t len), void *userdata,
                    struct cella_err *err)
{
        struct cella_err spare;
        return files_get(sandbox->keeper, INIT_READ, path, NULL, on_data, userdata,
                         native_place(err, &spare));
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
