/* front/tools/install.c -- installs the packages of execute_python.
 *
 * check -> (fetch -> pack) -> (unpack) -> install
 *
 * The steps check and install are runs in the context of the call.  If packages are missing, they come from
 * the cache of the key (core/package_cache.h); if they are not there, a fresh sandbox fetches them, and they
 * are added.  The cache never contains files of a session: otherwise code of one session could choose what
 * others install.  Each set of packages is a separate entry, because the installation of a package may run
 * its code, which could replace the other packages of its set.  If the cache cannot be used, pip fetches the
 * packages inside the session. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "core/context/context.h"
#include "core/image/used_image.h"
#include "core/package_cache.h"
#include "core/sandbox/operation.h"
#include "core/sandbox/queue.h"
#include "front/tools/internal.h"

#define WHEELS_FETCHED "/workspace/wheels"
#define WHEELS_UNPACKED "/tmp/.cella-packages"

enum install_step { CHECK, FETCH, PACK, UNPACK, INSTALL };

struct install {
        struct tool_call *call;
        char context_id[ID_SIZE]; /* of the call */
        void (*done)(void *who, const struct cella_err *err);
        void *who;
        enum install_step step;
        struct context_run *run;
        struct operation *operation;
        struct context *starting; /* the interpreter of the fresh sandbox starts */
        char fresh_id[ID_SIZE];   /* the fresh sandbox; "": none */
        char *set;                /* name of the set in the cache */
        int fd;                   /* its archive; -1: none */
        uint64_t bytes;           /* written to fd so far, or read from it */
        bool incomplete;          /* the archive could not be written */
        bool unpacked;            /* it is in the sandbox of the call */
};

static void install_packages(struct install *i);
static void tool_install_unpack(struct install *i);

static json_t *packages_of(const struct install *i)
{
        return json_object_get(i->call->arguments, "packages");
}

static void install_free(struct install *i)
{
        if (i->fresh_id[0])
                target_leave(i->call->core, i->fresh_id, "");
        if (i->fd >= 0)
                close(i->fd);
        free(i->set);
        free(i);
}

static void tool_install_finish(struct install *i, const struct cella_err *err)
{
        void (*done)(void *, const struct cella_err *) = i->done;
        void *who = i->who;
        const struct cella_err copy = err ? *err : (struct cella_err){0};
        install_free(i);
        done(who, err ? &copy : NULL);
}

/* Removes the fresh sandbox; the packages are installed from the index if there is no archive now. */
static void leave_fresh(struct install *i)
{
        if (i->fresh_id[0])
                target_leave(i->call->core, i->fresh_id, "");
        i->fresh_id[0] = '\0';
}

static void go_without_cache(struct install *i)
{
        leave_fresh(i);
        install_packages(i);
}

/* ---- runs ---- */

static void on_run_end(struct context_run *run, void *caller);

static int start_run(struct install *i, struct context *context, const char *step, const char *wheels,
                     struct cella_err *err)
{
        static const struct context_run_events events = {.on_end = on_run_end};
        struct tool_call *call = i->call;
        struct exec_request request;
        json_t *code = packages_code(packages_of(i), step, call->core->settings.packages_index, wheels);
        json_t *document = json_pack("{s:s, s:o, s:o}", "runtime", context->runtime, "code", code, "limits",
                                     python_limits(call, true));
        int r = document ? exec_request_from(document, &request, err)
                         : err_set(err, CELLA_INTERNAL, -ENOMEM, "packages");
        if (r < 0)
                return r;
        request.scanned = true; /* it is our own */
        r = context_run_new(context, &call->caller, &request, false, &events, i, &i->run, err);
        call->logged = r < 0; /* by context_run_new() */
        return r;
}

/* Starts a run in the context of the call, which may have been removed meanwhile. */
static int run_in_session(struct install *i, const char *step, struct cella_err *err)
{
        struct context *context = python_context(i->call, i->context_id);
        return context ? start_run(i, context, step, WHEELS_UNPACKED, err)
                       : err_say(err, CELLA_NOT_FOUND, -ENOENT, "the context %s was removed", i->context_id);
}

static void install_packages(struct install *i)
{
        struct cella_err err = {0};
        i->step = INSTALL;
        if (run_in_session(i, i->unpacked ? "unpacked" : "install", &err) < 0)
                tool_install_finish(i, &err);
}

/* ---- the fresh sandbox ---- */

static void on_pack_data(struct operation *op, const char *data, size_t len, void *context)
{
        struct install *i = context;
        (void)op;
        if (i->bytes + len > i->call->core->settings.packages_cache_bytes)
                i->incomplete = true;
        if (i->incomplete)
                return;
        if (pwrite(i->fd, data, len, (off_t)i->bytes) != (ssize_t)len)
                i->incomplete = true;
        i->bytes += len;
}

static void on_pack_end(struct operation *op, const struct cella_err *err, void *context)
{
        struct install *i = context;
        (void)op;
        i->operation = NULL;
        leave_fresh(i);
        if (err || i->incomplete) {
                go_without_cache(i);
                return;
        }
        package_cache_add(i->call->core, i->set, i->fd, i->bytes);
        i->fd = package_cache_find(i->call->core, i->set);
        tool_install_unpack(i);
}

static void pack(struct install *i)
{
        static const struct operation_events events = {.on_data = on_pack_data, .on_end = on_pack_end};
        static const struct init_operate what = {.operation = INIT_TAR};
        struct cella_err err = {0};
        struct core_sandbox *sb = sandbox_find(i->call->core, &i->call->caller, i->fresh_id);
        i->step = PACK;
        i->fd = sb ? package_cache_file(i->call->core) : -1;
        if (i->fd < 0 || operation_new(sb, &what, WHEELS_FETCHED, NULL, &events, i, &i->operation, &err) < 0)
                go_without_cache(i);
}

static void on_fresh_ready(struct context *context, const struct cella_err *err, void *waiter)
{
        struct install *i = waiter;
        struct cella_err problem = {0};
        i->starting = NULL;
        if (err || start_run(i, context, "fetch", WHEELS_FETCHED, &problem) < 0)
                go_without_cache(i);
}

static int make_fresh(struct install *i, const struct core_sandbox *session, const char *runtime,
                      struct cella_err *err)
{
        struct tool_call *call = i->call;
        struct core_sandbox *sb;
        struct context *context;
        json_t *document = json_pack("{s:o, s:s, s:s, s:b, s:O*}", "limits", python_limits(call, true),
                                     "image", session->image_name, "engine", engine_words[session->engine],
                                     "persistent", 0, "network", json_object_get(call->arguments, "network"));
        int r = document ? schema_check(sandbox_fields(), document, "", err)
                         : err_set(err, CELLA_INTERNAL, -ENOMEM, "packages");
        if (r == 0)
                r = sandbox_request(call->core, &call->caller, document, &sb, err);
        json_decref(document);
        if (r < 0)
                return r;
        memcpy(i->fresh_id, sb->id, sizeof i->fresh_id);
        if ((r = context_new(sb, runtime, &context, err)) < 0)
                return r;
        i->starting = context;
        if ((r = context_start(context, on_fresh_ready, i, err)) < 0)
                i->starting = NULL;
        return r;
}

/* ---- the archive ---- */

static void tool_install_feed(struct install *i)
{
        char block[65536];
        for (;;) {
                const ssize_t n = pread(i->fd, block, sizeof block, (off_t)i->bytes);
                if (n <= 0) {
                        operation_feed_end(i->operation);
                        return;
                }
                const size_t taken = operation_feed(i->operation, block, (size_t)n);
                i->bytes += taken;
                if (taken < (size_t)n)
                        return;
        }
}

static void tool_install_on_room(struct operation *op, void *context)
{
        (void)op;
        tool_install_feed(context);
}

static void on_unpack_end(struct operation *op, const struct cella_err *err, void *context)
{
        struct install *i = context;
        (void)op;
        i->operation = NULL;
        i->unpacked = !err;
        install_packages(i);
}

static void tool_install_unpack(struct install *i)
{
        static const struct operation_events events = {.on_room = tool_install_on_room,
                                                       .on_end = on_unpack_end};
        static const struct init_operate what = {
                .operation = INIT_UNTAR, .length = ~UINT64_C(0), .mode = 0755};
        struct cella_err err = {0};
        const struct context *context = python_context(i->call, i->context_id);
        i->step = UNPACK;
        i->bytes = 0;
        if (i->fd < 0 || !context || !context->home ||
            operation_new(context->home, &what, WHEELS_UNPACKED, NULL, &events, i, &i->operation, &err) < 0)
                install_packages(i);
        else
                tool_install_feed(i);
}

/* ---- the cache ---- */

static int by_text(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns the name of the set in the cache: everything that the archive depends on.  NULL: no memory. */
static char *name_set(const struct install *i, const struct context *context)
{
        const json_t *packages = packages_of(i);
        const struct image *image = used_image_get(context->home->image);
        const char *index = i->call->core->settings.packages_index;
        const char *names[32];
        char *text = NULL;
        size_t n = 0, len;
        FILE *out = open_memstream(&text, &len);
        if (!out)
                return NULL;
        for (; n < json_array_size(packages) && n < 32; n++)
                names[n] = json_string_value(json_array_get(packages, n));
        qsort(names, n, sizeof *names, by_text);
        fprintf(out, "%s\n%s\n%s\n%s\n", i->call->caller.key, image ? image->id : "", context->runtime,
                index ? index : "");
        for (size_t k = 0; k < n; k++)
                fprintf(out, "%s\n", names[k]);
        return fclose(out) == 0 ? text : (free(text), NULL);
}

/* Packages are missing: takes them from the cache, or fetches them for it. */
static void find_archive(struct install *i)
{
        struct tool_call *call = i->call;
        struct cella_err err = {0};
        const struct context *context = python_context(call, i->context_id);
        const struct core_sandbox *sb = context ? context->home : NULL;
        if (!sb || sb->direct || sb->engine != ENGINE_NATIVE || sb->network.tier == TIER_RESTRICTED ||
            call->core->settings.packages_cache_bytes == 0 || !(i->set = name_set(i, context))) {
                install_packages(i);
                return;
        }
        i->fd = package_cache_find(call->core, i->set);
        if (i->fd >= 0) {
                tool_install_unpack(i);
                return;
        }
        i->step = FETCH;
        /* The session holds a place.  Waiting for a second one could last until the session ends. */
        if (!queue_key_has_room(call->core, call->caller.key, call->caller.sandboxes_max) ||
            make_fresh(i, sb, context->runtime, &err) < 0)
                go_without_cache(i);
}

/* ---- the steps ---- */

static void on_checked(struct install *i, const struct cella_result *r)
{
        const char *said = r->output[CELLA_STDOUT] ? r->output[CELLA_STDOUT] : "";
        if (r->output_len[CELLA_STDOUT] == 0)
                tool_install_finish(i, NULL);
        else if (!strncmp(said, "missing", 7))
                find_archive(i);
        else
                install_packages(i);
}

static void on_run_end(struct context_run *run, void *caller)
{
        struct install *i = caller;
        const struct cella_result *r = &run->result;
        const bool good = r->status == CELLA_EXITED && r->exit_code == 0;
        struct cella_err err = {0};
        i->run = NULL;
        if (i->step == FETCH && good) {
                pack(i);
        } else if (i->step == FETCH) {
                go_without_cache(i);
        } else if (!good) {
                packages_explain(r, &err);
                tool_install_finish(i, &err);
        } else if (i->step == CHECK) {
                on_checked(i, r);
        } else {
                tool_install_finish(i, NULL);
        }
}

int install_begin(struct tool_call *call, const struct context *context,
                  void (*done)(void *who, const struct cella_err *err), void *who, struct install **ret,
                  struct cella_err *err)
{
        struct install *i = calloc(1, sizeof *i);
        if (!i)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "packages");
        *i = (struct install){.call = call, .done = done, .who = who, .fd = -1};
        memcpy(i->context_id, context->id, sizeof i->context_id);
        int r = run_in_session(i, "check", err);
        if (r < 0) {
                install_free(i);
                return r;
        }
        *ret = i;
        return 0;
}

void install_cancel(struct install *i)
{
        if (i->starting)
                context_let_be(i->starting);
        if (i->operation)
                operation_cancel(i->operation);
        if (i->run) {
                context_run_release(i->run);
                context_run_cancel(i->run);
        }
        install_free(i);
}
