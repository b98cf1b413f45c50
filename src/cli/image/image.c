/* cli/image/image.c -- `cella image`: manages root file systems for sandboxes.
 *
 * It reads the store itself and lets cella-image change it; a daemon is not needed. */
#include "cli/image/image.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/client/api.h"
#include "cli/text.h"
#include "image/store/reference.h"
#include "image/store/store.h"

static const struct cli_command *const verbs[] = {&image_pull,    &image_import, &image_bootstrap, &image_ls,
                                                  &image_inspect, &image_rm,     &image_gc};

int image_need_words(const struct cli_command *self, int n, int min, int max, struct cella_err *err)
{
        if (n >= min && n <= max)
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "cella %s takes %s", self->name,
                *self->usage ? self->usage : "no words");
        return err_hint(err, "cella %s --help", self->name);
}

int image_check_name(const char *name, struct cella_err *err)
{
        struct reference ref;
        if (strcmp(name, IMAGE_HOST) != 0 && reference_parse(name, &ref, NULL) == 0)
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "an image cannot be called '%.100s'", name);
        return err_hint(err, "letters in lower case, digits, and . _ - / between them; a tag after a colon");
}

int image_finish(int r, const struct image_link *link, const struct cella_err *err, bool json)
{
        if (r < 0 && r != CLI_HELP && link && link->interrupted) {
                if (cli_stderr_ready())
                        fprintf(stderr, "cella: interrupted; nothing was changed\n");
                return 128 + link->interrupted;
        }
        if (r >= 0 || r == CLI_HELP || !link || !link->ended)
                return cli_finish(r, err, json);
        if (json) /* the archive or the registry is wrong, not the command line */
                cli_print_error(err);
        return cli_fail(err, EXIT_CELLA);
}

int image_print_made(const struct image_link *link, const char *store, bool json, struct cella_err *err)
{
        const struct imager_event *end = &link->end;
        if (end->n_images == 0)
                return err_say(err, CELLA_INTERNAL, -EPROTO,
                               "cella-image did not report the id of the image");
        for (unsigned i = 0; i < end->n_images; i++) {
                AUTO(image_free) struct image *image = NULL;
                struct json j = {.out = stdout};
                int r = image_find(store, end->images[i], &image, err);
                if (r < 0 || (r = image_load_names(store, image, err)) < 0)
                        return r;
                if (json)
                        image_put(&j, NULL, image);
                else
                        printf("%s", image->id);
                putchar('\n');
        }
        return 0;
}

/* ---- ls ---- */

static void image_command_add_row(struct table *t, const struct image *image, const char *name)
{
        char text[40];
        table_add(t, name, 60);
        table_add(t, image->id, 0);
        progress_size(image->bytes, text, sizeof text);
        table_add(t, text, 0);
        api_span(api_now() - (int64_t)image->created_ms, text, sizeof text);
        table_add(t, text, 0);
        table_add(t, image->platform, 24);
        table_add(t, image->source, 16);
}

/* Shows ids in a length that users can type. */
static void print_table(struct image **list, size_t n)
{
        static const char *const headings[] = {"NAME", "ID", "SIZE", "AGE", "PLATFORM", "SOURCE"};
        struct table t;
        table_init(&t, headings, ARRAY_LEN(headings));
        for (size_t i = 0; i < n; i++) {
                list[i]->id[12] = '\0';
                for (const char **name = list[i]->names; name && *name; name++)
                        image_command_add_row(&t, list[i], image_name_short(*name));
                if (!list[i]->names || !*list[i]->names)
                        image_command_add_row(&t, list[i], NULL);
        }
        table_print(&t);
}

static int list_images(const struct image_options *o, struct cella_err *err)
{
        char store[IMAGE_STORE_SIZE];
        struct image **list = NULL;
        size_t n = 0;
        struct json j = {.out = stdout};
        int r = image_link_store(o->state, store, err);
        if (r < 0 || (r = image_list(store, &list, &n, err)) < 0)
                return r;
        if (o->json) {
                json_put_open(&j, NULL, '{');
                json_put_open(&j, "images", '[');
                for (size_t i = 0; i < n; i++)
                        image_put(&j, NULL, list[i]);
                json_put_close(&j, ']');
                json_put_close(&j, '}');
                putchar('\n');
        } else {
                print_table(list, n);
        }
        image_list_free(list, n);
        return 0;
}

static int ls_main(const struct cli_command *self, int argc, char **argv)
{
        struct image_options o = {0};
        struct cella_err err = {0};
        int r = cli_parse_all(self, argc, argv, &o, NULL, &err);
        if (r >= 0 && (r = image_need_words(self, r, 0, 0, &err)) == 0)
                r = list_images(&o, &err);
        return cli_finish(r, &err, o.json);
}

/* ---- inspect ---- */

static void print_words(const char *name, const char *const *words)
{
        char text[512];
        if (!words || !*words)
                return;
        printf("%-11s", name);
        for (; *words; words++) {
                text_safe(text, sizeof text, *words);
                printf(" %s", text);
        }
        putchar('\n');
}

static void print_pairs(const char *name, const struct image_pair *pairs, size_t n)
{
        char left[256], right[512];
        for (size_t i = 0; i < n; i++) {
                text_safe(left, sizeof left, pairs[i].name);
                text_safe(right, sizeof right, pairs[i].value);
                printf("%-11s %s = %s\n", i == 0 ? name : "", left, right);
        }
}

static void print_lines(const char *name, const char *const *words)
{
        char text[512];
        for (size_t i = 0; words && words[i]; i++) {
                text_safe(text, sizeof text, words[i]);
                printf("%-11s %s\n", i == 0 ? name : "", text);
        }
}

static void print_text(const char *name, const char *text)
{
        const char *const words[] = {text, NULL};
        if (*text)
                print_words(name, words);
}

static void print_image(const struct image *image)
{
        char size[24];
        progress_size(image->bytes, size, sizeof size);
        print_lines("names", image->names);
        print_text("id", image->id);
        print_text("digest", image->digest);
        printf("%-11s %s in %llu files\n", "size", size, (unsigned long long)image->files);
        print_text("platform", image->platform);
        print_text("source", image->source);
        print_text("user", image->user);
        printf("%-11s %u:%u\n", "uid:gid", image->uid, image->gid);
        print_text("cwd", image->cwd);
        print_words("entrypoint", image->entrypoint);
        print_words("cmd", image->cmd);
        print_lines("env", image->env);
        print_pairs("runtimes", image->runtimes, image->n_runtimes);
        print_pairs("labels", image->labels, image->n_labels);
        print_lines("layers", image->layers);
}

static int image_command_inspect(const struct image_options *o, const char *name, struct cella_err *err)
{
        AUTO(image_free) struct image *image = NULL;
        char store[IMAGE_STORE_SIZE];
        struct json j = {.out = stdout};
        int r = image_link_store(o->state, store, err);
        if (r < 0 || (r = image_find(store, name, &image, err)) < 0 ||
            (r = image_load_names(store, image, err)) < 0)
                return r;
        if (o->json) {
                image_put(&j, NULL, image);
                putchar('\n');
        } else {
                print_image(image);
        }
        return 0;
}

static int inspect_main(const struct cli_command *self, int argc, char **argv)
{
        struct image_options o = {0};
        struct cella_err err = {0};
        int r = cli_parse_all(self, argc, argv, &o, NULL, &err);
        if (r >= 0 && (r = image_need_words(self, r, 1, 1, &err)) == 0)
                r = image_command_inspect(&o, argv[1], &err);
        return cli_finish(r, &err, o.json);
}

/* ---- rm, gc ---- */

static int image_command_remove_one(struct image_link *link, const char *name, struct cella_err *err)
{
        char *line = NULL;
        size_t len = 0;
        int r = imager_write_remove(image_link_next(link), name, &line, &len);
        r = image_link_begin(link, r, line, len, -1, err);
        return r < 0 ? r : image_link_finish(link, err);
}

/* Removes each of them, also if one does not exist; returns the last error. */
static int remove_all(struct image_link *link, const char *store, char **names, int n, struct cella_err *err)
{
        struct cella_err one = {0};
        int r = image_link_open(store, link, err), worst = 0;
        for (int i = 0; i < n && r == 0; i++) {
                int e = image_command_remove_one(link, names[i], &one);
                if (e < 0 && worst < 0)
                        cli_fail(err, 0);
                if (e < 0) {
                        *err = one;
                        worst = e;
                }
                if (link->interrupted || link->child.pid == 0)
                        break;
        }
        return r < 0 ? r : worst;
}

static int rm_main(const struct cli_command *self, int argc, char **argv)
{
        AUTO(image_link_close) struct image_link link = IMAGE_LINK_NONE;
        struct image_options o = {0};
        struct cella_err err = {0};
        char store[IMAGE_STORE_SIZE];
        int n = cli_parse_all(self, argc, argv, &o, NULL, &err), r = n;
        if (r >= 0 && (r = image_need_words(self, n, 1, argc, &err)) == 0 &&
            (r = image_link_store(o.state, store, &err)) == 0)
                r = remove_all(&link, store, argv + 1, n, &err);
        return image_finish(r, &link, &err, false);
}

static int image_command_collect(struct image_link *link, const struct image_options *o,
                                 struct cella_err *err)
{
        char store[IMAGE_STORE_SIZE], size[16];
        char *line = NULL;
        size_t len = 0;
        int r = image_link_store(o->state, store, err);
        if (r < 0 || (r = image_link_open(store, link, err)) < 0)
                return r;
        r = imager_write_gc(image_link_next(link), &line, &len);
        if ((r = image_link_begin(link, r, line, len, -1, err)) < 0 || (r = image_link_finish(link, err)) < 0)
                return r;
        progress_size(link->end.bytes, size, sizeof size);
        if (o->json)
                printf("{\"layers\":%llu,\"roots\":%llu,\"bytes\":%llu}\n",
                       (unsigned long long)link->end.layers, (unsigned long long)link->end.roots,
                       (unsigned long long)link->end.bytes);
        else
                printf("%llu layers and %llu roots removed, %s\n", (unsigned long long)link->end.layers,
                       (unsigned long long)link->end.roots, size);
        return 0;
}

static int gc_main(const struct cli_command *self, int argc, char **argv)
{
        AUTO(image_link_close) struct image_link link = IMAGE_LINK_NONE;
        struct image_options o = {0};
        struct cella_err err = {0};
        int r = cli_parse_all(self, argc, argv, &o, NULL, &err);
        if (r >= 0 && (r = image_need_words(self, r, 0, 0, &err)) == 0)
                r = image_command_collect(&link, &o, &err);
        return image_finish(r, &link, &err, o.json);
}

/* ---- the command ---- */

static const struct cli_option state_only[] = {IMAGE_STATE_OPTION};
static const struct cli_option state_and_json[] = {IMAGE_STATE_OPTION, IMAGE_JSON_OPTION};

const struct cli_command image_ls = {.name = "image ls",
                                     .usage = "",
                                     .summary = "list the images, newest first",
                                     .options = state_and_json,
                                     .n_options = ARRAY_LEN(state_and_json),
                                     .main = ls_main};
const struct cli_command image_inspect = {
        .name = "image inspect",
        .usage = "NAME",
        .summary = "show an image by its name, its id, or the beginning of its id",
        .options = state_and_json,
        .n_options = ARRAY_LEN(state_and_json),
        .main = inspect_main};
const struct cli_command image_rm = {.name = "image rm",
                                     .usage = "NAME...",
                                     .summary = "remove names; the last name, or the id, removes the image",
                                     .options = state_only,
                                     .n_options = ARRAY_LEN(state_only),
                                     .main = rm_main};
const struct cli_command image_gc = {.name = "image gc",
                                     .usage = "",
                                     .summary = "remove layers and files that belong to no image",
                                     .options = state_and_json,
                                     .n_options = ARRAY_LEN(state_and_json),
                                     .main = gc_main};

static int image_main(const struct cli_command *self, int argc, char **argv)
{
        struct cella_err err = {0};
        if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
                cli_print_help(self);
                return 0;
        }
        for (size_t i = 0; argc > 1 && i < ARRAY_LEN(verbs); i++)
                if (!strcmp(argv[1], verbs[i]->name + 6))
                        return verbs[i]->main(verbs[i], argc - 1, argv + 1);
        if (argc < 2) {
                cli_print_help(self);
                return EXIT_USAGE;
        }
        cli_wrong_words(self, argv[1], &err);
        return cli_fail(&err, EXIT_USAGE);
}

const struct cli_command cli_image = {
        .name = "image",
        .usage = "pull REF | import FILE [NAME] | bootstrap NAME | ls | inspect NAME | rm NAME... | gc",
        .text = "cella image VERB --help shows the options of each.",
        .examples = "  cella image pull python:3.12-slim\n"
                    "  docker save app | cella image import - app\n"
                    "  cella run --image app -- ls /\n",
        .verbs = verbs,
        .n_verbs = ARRAY_LEN(verbs),
        .main = image_main};
