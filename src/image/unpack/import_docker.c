/* image/unpack/import_docker.c -- archives of `docker save`: manifest.json, a list of images. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/foreign_json.h"
#include "image/store/reference.h"
#include "image/unpack/import.h"

#define VALUES_MAX 65536
#define TAGS_MAX 64

static int import_docker_broken(struct cella_err *err, const char *what)
{
        return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG, "manifest.json was refused: %s", what);
}

/* Reads the strings of a list that may be missing, at most max.  They are owned by the list. */
static int get_list(const json_t *entry, const char *name, const char **ret, size_t max, size_t *ret_n)
{
        const json_t *list = json_object_get(entry, name);
        size_t i;
        json_t *value;
        *ret_n = 0;
        if (foreign_json_is_absent(entry, name))
                return 0;
        if (!json_is_array(list) || json_array_size(list) > max)
                return -EINVAL;
        json_array_foreach (list, i, value) {
                const char *text = foreign_json_text(value);
                if (!text)
                        return -EINVAL;
                ret[(*ret_n)++] = text;
        }
        return 0;
}

/* Tags are references: they are stored under the name that a pull would use. */
static int write_names(const char *const *tags, size_t n, char (*whole)[REFERENCE_SIZE], const char **names,
                       struct cella_err *err)
{
        struct reference reference;
        for (size_t i = 0; i < n; i++) {
                int r = reference_parse(tags[i], &reference, err);
                if (r < 0 || (r = import_check_name(tags[i], &reference, err)) < 0)
                        return r;
                reference_write(&reference, whole[i]);
                names[i] = whole[i];
        }
        names[n] = NULL;
        return 0;
}

static int import_entry(struct importing *in, const json_t *entry, struct cella_err *err)
{
        const char *layers[LAYERS_MAX], *tags[TAGS_MAX], *names[TAGS_MAX + 1] = {NULL};
        const char *config = foreign_json_get_text(entry, "Config");
        size_t n_layers, n_tags;
        if (!config)
                return import_docker_broken(err, "an image has no Config");
        const size_t listed = json_array_size(json_object_get(entry, "Layers"));
        if (listed > LAYERS_MAX)
                return err_say(err, CELLA_TOO_LARGE, -E2BIG, "the image has %zu layers, more than %d", listed,
                               LAYERS_MAX);
        if (get_list(entry, "Layers", layers, LAYERS_MAX, &n_layers) < 0)
                return import_docker_broken(err, "Layers is not a list of files");
        if (n_layers == 0)
                return import_docker_broken(err, "an image has no layers");
        if (get_list(entry, "RepoTags", tags, TAGS_MAX, &n_tags) < 0)
                return import_docker_broken(err, "RepoTags is not a list of names");
        const struct part *part = parts_need(in->parts, config, PART_TEXT, err);
        if (!part)
                return -EBADMSG;
        char(*whole)[REFERENCE_SIZE] = calloc(n_tags + 1, sizeof *whole);
        if (!whole)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot import an image");
        int r = in->name ? 0 : write_names(tags, n_tags, whole, names, err);
        if (r == 0)
                r = import_image(in, part, layers, n_layers, NULL, names, err);
        free(whole);
        return r;
}

int import_docker(struct importing *in, const struct part *manifest, struct cella_err *err)
{
        struct cella_err why = {0};
        size_t i;
        json_t *entry;
        AUTO(json_decref)
        json_t *list = foreign_json_parse(manifest->text, manifest->len, VALUES_MAX, 0, &why);
        if (!list)
                return import_docker_broken(err, why.msg);
        const size_t n = json_array_size(list);
        if (n == 0)
                return import_docker_broken(err, "it is not a list of images");
        if (in->name && n > 1) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                        "the archive has %zu images, which cannot all have the name '%.80s'", n, in->name);
                return err_hint(err, "leave out the name: each image then has its name from the archive");
        }
        int r = 0;
        for (int pass = 0; pass < 2; pass++) {
                in->only_check = pass == 0;
                json_array_foreach (list, i, entry)
                        if (r == 0)
                                r = import_entry(in, entry, err);
        }
        return r;
}
