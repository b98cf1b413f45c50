/* image/unpack/import_docker.c -- what `docker save` writes: manifest.json, a list of images. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "image/store/reference.h"
#include "image/unpack/import.h"

#define VALUES_MAX 65536
#define TAGS_MAX 64

static int broken(struct cella_err *err, const char *what)
{
        return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG, "manifest.json was refused: %s", what);
}

/* Strings of a list, at most max. */
static int get_list(const struct json_value *list, const char **ret, size_t max, size_t *ret_n)
{
        *ret_n = 0;
        if (!list || list->type == JSON_NULL)
                return 0;
        if (list->type != JSON_ARRAY || list->n > max)
                return -EINVAL;
        for (const struct json_value *v = json_first(list); v; v = json_next(list, v)) {
                if (v->type != JSON_STRING || strlen(v->text) != v->len)
                        return -EINVAL;
                ret[(*ret_n)++] = v->text;
        }
        return 0;
}

/* Tags are references: they are stored as what a pull of them would be. */
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

static int import_entry(struct importing *in, const struct json_value *entry, struct cella_err *err)
{
        const char *layers[LAYERS_MAX], *tags[TAGS_MAX], *names[TAGS_MAX + 1] = {NULL};
        const char *config = json_get_string(entry, "Config");
        size_t n_layers, n_tags;
        if (!config)
                return broken(err, "an image has no Config");
        const struct json_value *list = json_get(entry, "Layers");
        if (list && list->type == JSON_ARRAY && list->n > LAYERS_MAX)
                return err_say(err, CELLA_TOO_LARGE, -E2BIG, "the image has %u layers, more than %d", list->n,
                               LAYERS_MAX);
        if (get_list(list, layers, LAYERS_MAX, &n_layers) < 0)
                return broken(err, "Layers is not a list of files");
        if (n_layers == 0)
                return broken(err, "an image has no layers");
        if (get_list(json_get(entry, "RepoTags"), tags, TAGS_MAX, &n_tags) < 0)
                return broken(err, "RepoTags is not a list of names");
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
        AUTO(json_doc_done) struct json_doc doc = {0};
        struct cella_err why = {0};
        if (json_read(manifest->text, manifest->len, VALUES_MAX, &doc, &why) < 0)
                return broken(err, why.msg);
        const struct json_value *list = doc.values;
        if (list->type != JSON_ARRAY || list->n == 0)
                return broken(err, "it is not a list of images");
        if (in->name && list->n > 1) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                        "the archive has %u images, which cannot all be called '%.80s'", list->n, in->name);
                return err_hint(err, "without a name each is called as the archive says");
        }
        int r = 0;
        for (int pass = 0; pass < 2; pass++) {
                in->only_check = pass == 0;
                for (const struct json_value *v = json_first(list); v && r == 0; v = json_next(list, v))
                        r = import_entry(in, v, err);
        }
        return r;
}
