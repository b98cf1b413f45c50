/* cli/client/runtime.c -- `cella runtime ls`: lists the runtimes of this machine and of the images, with
 * versions.
 *
 * The programs are found from outside.  Their versions are printed by the programs themselves, in a sandbox,
 * because the programs are not trusted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/json.h"
#include "base/runtime.h"
#include "cli/cli.h"
#include "cli/client/api.h"
#include "cli/text.h"
#include "engine/runtime_look.h"
#include "image/store/store.h"

#define ASK_MS 5000

struct runtime_options {
        const char *image;
        bool json;
};

static const struct cli_option table[] = {
        {"image", "NAME", "only the runtimes of this image (host: this machine)",
         CLI_INTO(CLI_TEXT, struct runtime_options, image)},
        API_JSON_OPTION(struct runtime_options),
};

/* The destination of the rows. */
struct listing {
        struct table table;
        struct json json;
        bool as_json;
};

static void client_runtime_add_row(struct listing *l, const char *image, const struct runtime_found *found,
                                   const char *version)
{
        static const char *const headings[] = {"IMAGE", "RUNTIME", "VERSION", "PROGRAM"};
        if (!l->as_json && l->table.n == 0)
                table_init(&l->table, headings, ARRAY_LEN(headings));
        if (!l->as_json) {
                table_add(&l->table, image, 60);
                table_add(&l->table, found->name, 0);
                table_add(&l->table, version, 0);
                table_add(&l->table, found->program, 80);
                return;
        }
        json_put_open(&l->json, NULL, '{');
        json_put_string(&l->json, "name", found->name);
        json_put_string(&l->json, "image", image);
        json_put_string(&l->json, "program", found->program);
        if (version[0])
                json_put_string(&l->json, "version", version);
        else
                json_put_null(&l->json, "version");
        json_put_close(&l->json, '}');
}

/* Returns the version that the program prints on either stream; empty: none. */
static void client_runtime_ask(struct cella_sandbox *sandbox, const struct runtime_found *found,
                               char version[32])
{
        struct runtime runtime;
        struct cella_result result;
        struct cella_err ignored;
        version[0] = '\0';
        if (runtime_find(found->name, &runtime) < 0)
                return;
        const char *const argv[] = {found->program,
                                    runtime.version_option ? runtime.version_option : "--version", NULL};
        const struct cella_command command = {.argv = argv, .cwd = "/", .stdin_fd = -1, .cancel_fd = -1};
        if (cella_run(sandbox, &command, &result, &ignored) < 0)
                return;
        for (int i = 0; i < 2 && !version[0] && result.exit_code == 0; i++)
                runtime_version(result.output[i], result.output_len[i], version, 32);
        cella_result_done(&result);
}

static int list_one(struct listing *l, const char *image, const char *shown,
                    const struct runtime_found *found, size_t n, struct cella_err *err)
{
        struct cella_sandbox *sandbox = NULL;
        struct cella_options options;
        char version[32];
        cella_options_default(&options);
        options.image = image;
        options.limits.timeout_ms = ASK_MS;
        int r = n > 0 ? cella_sandbox_new(&options, &sandbox, err) : 0;
        for (size_t i = 0; i < n && r == 0; i++) {
                client_runtime_ask(sandbox, &found[i], version);
                client_runtime_add_row(l, shown, &found[i], version);
        }
        cella_sandbox_free(sandbox);
        return r;
}

static int list_host(struct listing *l, struct cella_err *err)
{
        struct runtime_found found[RUNTIMES_FOUND_MAX];
        return list_one(l, IMAGE_HOST, IMAGE_HOST, found, runtime_look(found), err);
}

static int list_image(struct listing *l, const struct image *image, const char *name, struct cella_err *err)
{
        struct runtime_found found[RUNTIMES_FOUND_MAX] = {0};
        size_t n = 0;
        for (size_t i = 0; i < image->n_runtimes && n < ARRAY_LEN(found); i++) {
                const struct image_pair *runtime = &image->runtimes[i];
                if (strlen(runtime->name) >= sizeof found->name ||
                    strlen(runtime->value) >= sizeof found->program)
                        continue;
                snprintf(found[n].name, sizeof found->name, "%s", runtime->name);
                snprintf(found[n++].program, sizeof found->program, "%s", runtime->value);
        }
        return list_one(l, image->id, name, found, n, err);
}

/* An image that cannot be used is reported; the others are still listed. */
static int list_images(struct listing *l, const char *store, struct cella_err *err)
{
        struct image **images = NULL;
        size_t n = 0;
        int r = image_list(store, &images, &n, err), failed = 0;
        for (size_t i = 0; i < n && r == 0; i++) {
                struct cella_err why = {0};
                const char *name =
                        images[i]->names[0] ? image_name_short(images[i]->names[0]) : images[i]->id;
                int e = list_image(l, images[i], name, &why);
                if (e < 0)
                        failed = cli_fail(&why, EXIT_CELLA);
        }
        image_list_free(images, n);
        return r < 0 ? r : failed;
}

static int client_runtime_list(struct listing *l, const char *name, struct cella_err *err)
{
        AUTO(image_free) struct image *image = NULL;
        char store[4096];
        if (name && !strcmp(name, IMAGE_HOST))
                return list_host(l, err);
        int r = image_store_path(NULL, store, sizeof store, err);
        if (r < 0)
                return r;
        if (name)
                return (r = image_find(store, name, &image, err)) < 0 ? r : list_image(l, image, name, err);
        r = list_host(l, err);
        return r < 0 ? r : list_images(l, store, err);
}

static int client_runtime_print(const struct runtime_options *o, struct cella_err *err)
{
        struct listing l = {.as_json = o->json, .json = {.out = stdout}};
        if (o->json) {
                char *text = NULL;
                size_t len = 0;
                l.json.out = open_memstream(&text, &len);
                if (!l.json.out)
                        return err_set(err, CELLA_INTERNAL, -ENOMEM, "list");
                json_put_open(&l.json, NULL, '{');
                json_put_open(&l.json, "runtimes", '[');
                int r = client_runtime_list(&l, o->image, err);
                json_put_close(&l.json, ']');
                json_put_close(&l.json, '}');
                fclose(l.json.out);
                if (r >= 0)
                        printf("%s\n", text);
                free(text);
                return r;
        }
        int r = client_runtime_list(&l, o->image, err);
        if (l.table.n > 0)
                table_print(&l.table);
        return r;
}

static int runtime_main(const struct cli_command *self, int argc, char **argv)
{
        struct runtime_options o = {0};
        struct cella_err err = {0};
        int n = cli_parse_all(self, argc, argv, &o, NULL, &err);
        if (n >= 0 && (n != 1 || strcmp(argv[1], "ls") != 0))
                n = cli_wrong_words(self, n > 0 ? argv[1] : NULL, &err);
        return cli_finish(n < 0 ? n : client_runtime_print(&o, &err), &err, o.json);
}

const struct cli_command cli_runtime = {
        .name = "runtime",
        .usage = "ls [OPTIONS]",
        .text = "A version can be requested even if it is not listed: node22 is a node program that reports "
                "version\n22.",
        .examples = "  cella runtime ls\n"
                    "  cella runtime ls --image python:3.12-slim\n",
        .options = table,
        .n_options = ARRAY_LEN(table),
        .main = runtime_main,
};
