#include "image/unpack/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_read.h"
#include "image/registry/manifest.h"
#include "image/store/writer.h"
#include "image/unpack/digest.h"

#define VALUES_MAX 65536
#define ENV_MAX ((size_t)20 << 10) /* bytes, as the rest: together they have to fit into a meta */
#define ARGUMENTS_MAX ((size_t)8 << 10)
#define LABELS_MAX ((size_t)6 << 10)
#define TEXT_MAX 1024

struct reading {
        const char **strings; /* what is left of the block for lists */
        struct image_pair *pairs;
        struct cella_err *err;
        int failed;
};

static void broken(struct reading *r, const char *what, const char *how)
{
        if (r->failed == 0)
                r->failed = err_say(r->err, CELLA_INVALID_REQUEST, -EBADMSG,
                                    "the image's configuration was refused: %s %s", what, how);
}

static bool is_null(const struct json_value *v)
{
        return !v || v->type == JSON_NULL;
}

static bool is_text(const struct json_value *v)
{
        return v && v->type == JSON_STRING && strlen(v->text) == v->len;
}

static const char *get_text(struct reading *r, const struct json_value *object, const char *name)
{
        const struct json_value *v = json_get(object, name);
        if (is_null(v))
                return "";
        if (!is_text(v))
                broken(r, name, "is not a text");
        else if (v->len > TEXT_MAX)
                broken(r, name, "is too long");
        else
                return v->text;
        return "";
}

static void add_text(struct reading *r, const struct json_value *v, const char *name, size_t *left)
{
        if (!is_text(v)) {
                broken(r, name, "is not a list of texts");
        } else if (v->len + 1 > *left) {
                broken(r, name, "is too long");
        } else {
                *left -= v->len + 1;
                *r->strings++ = v->text;
        }
}

static const char **get_list(struct reading *r, const struct json_value *object, const char *name, size_t max)
{
        const struct json_value *list = json_get(object, name);
        const char **begin = r->strings;
        if (!is_null(list) && list->type != JSON_ARRAY)
                broken(r, name, "is not a list of texts");
        else
                for (const struct json_value *v = json_first(list); v && r->failed == 0;
                     v = json_next(list, v))
                        add_text(r, v, name, &max);
        *r->strings++ = NULL;
        return begin;
}

/* One text is a list of one, as Docker has it. */
static const char **get_arguments(struct reading *r, const struct json_value *config, const char *name)
{
        const struct json_value *v = json_get(config, name);
        const char **begin = r->strings;
        size_t left = ARGUMENTS_MAX;
        if (!is_text(v))
                return get_list(r, config, name, ARGUMENTS_MAX);
        add_text(r, v, name, &left);
        *r->strings++ = NULL;
        return begin;
}

/* Where the variable is said again, further on, or NULL. */
static const char *const *said_again(const char *const *list, const char *variable)
{
        const size_t len = strcspn(variable, "=") + 1;
        for (; *list; list++)
                if (strncmp(*list, variable, len) == 0)
                        return list;
        return NULL;
}

/* What is no variable is nobody's.  Of one that is said twice the last counts: programs differ in which they
 * would take. */
static const char **get_env(struct reading *r, const struct json_value *config)
{
        const char **env = get_list(r, config, "Env", ENV_MAX), **to = env;
        for (const char **from = env; *from; from++)
                if (strchr(*from, '=') && (*from)[0] != '=' && !said_again(from + 1, *from))
                        *to++ = *from;
        *to = NULL;
        return env;
}

static const struct image_pair *get_labels(struct reading *r, const struct json_value *config, size_t *n)
{
        const struct json_value *labels = json_get(config, "Labels");
        const struct image_pair *begin = r->pairs;
        size_t left = LABELS_MAX;
        if (!is_null(labels) && labels->type != JSON_OBJECT)
                broken(r, "Labels", "is not an object");
        else
                for (const struct json_value *v = json_first(labels); v; v = json_next(labels, v)) {
                        size_t size = (size_t)v->len + v[1].len + 8;
                        if (!is_text(v) || !is_text(v + 1) || size > left)
                                continue;
                        left -= size;
                        *r->pairs++ = (struct image_pair){v->text, v[1].text};
                }
        *n = (size_t)(r->pairs - begin);
        return begin;
}

static const char **get_layers(struct reading *r, const struct json_value *top)
{
        const struct json_value *rootfs = json_get(top, "rootfs");
        const char **layers = get_list(r, rootfs, "diff_ids", LAYERS_MAX * (DIGEST_HEX + 8));
        for (const char **p = layers; *p; p++)
                if (!digest_is_valid(*p))
                        broken(r, "rootfs.diff_ids", "is not a list of digests");
        if (!layers[0])
                broken(r, "rootfs.diff_ids", "has no layer");
        return layers;
}

/* Behind the document, in the same block. */
static const char *get_platform(struct reading *r, const struct json_value *top, char *text, size_t size)
{
        struct platform own, p;
        const char *os = get_text(r, top, "os"), *architecture = get_text(r, top, "architecture"),
                   *variant = get_text(r, top, "variant");
        platform_of_this_machine(&own);
        if (os[0] && strcmp(os, "linux") != 0)
                broken(r, "it", "is not for Linux");
        snprintf(text, size, "linux/%s%s%s", architecture[0] ? architecture : own.architecture,
                 variant[0] ? "/" : "", variant);
        if (platform_parse(text, &p, NULL) < 0)
                broken(r, "architecture", "is not the name of a processor");
        return text;
}

/* From the root, without . and .., as Docker has it. */
static const char *get_cwd(struct reading *r, const struct json_value *config, char *text)
{
        size_t end = 0;
        for (const char *at = get_text(r, config, "WorkingDir"); *at; at += strspn(at, "/")) {
                const size_t len = strcspn(at, "/");
                if (len == 2 && at[0] == '.' && at[1] == '.') {
                        while (end > 0 && text[--end] != '/')
                                continue;
                } else if (len > 0 && !(len == 1 && at[0] == '.')) {
                        text[end++] = '/';
                        memcpy(text + end, at, len);
                        end += len;
                }
                at += len;
        }
        if (end == 0)
                text[end++] = '/';
        text[end] = '\0';
        return text;
}

static void read_document(struct reading *r, const struct json_value *top, char *more, struct image *ret)
{
        const struct json_value *config = json_get(top, "config");
        if (top->type != JSON_OBJECT)
                broken(r, "it", "is not an object");
        if (!is_null(config) && config->type != JSON_OBJECT)
                broken(r, "config", "is not an object");
        ret->platform = get_platform(r, top, more, MANIFEST_PLATFORM_SIZE + 2 * TEXT_MAX);
        ret->layers = get_layers(r, top);
        ret->env = get_env(r, config);
        ret->cwd = get_cwd(r, config, more + MANIFEST_PLATFORM_SIZE + 2 * TEXT_MAX);
        ret->user = get_text(r, config, "User");
        ret->entrypoint = get_arguments(r, config, "Entrypoint");
        ret->cmd = get_arguments(r, config, "Cmd");
        ret->labels = get_labels(r, config, &ret->n_labels);
        ret->digest = ret->source = "";
}

int config_read(const char *config, size_t len, struct image *ret, struct cella_err *err)
{
        AUTO(json_doc_done) struct json_doc doc = {0};
        const size_t more = MANIFEST_PLATFORM_SIZE + 3 * TEXT_MAX + 2;
        struct reading r = {.err = err};
        struct cella_err why = {0};
        if (len > CONFIG_MAX)
                return err_say(err, CELLA_TOO_LARGE, -EFBIG,
                               "the image's configuration is larger than %zu bytes", CONFIG_MAX);
        char *text = ret->memory[0] = malloc(len + more);
        if (!text)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "an image's configuration");
        memcpy(text, config, len);
        if (json_read(text, len, VALUES_MAX, &doc, &why) < 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                               "the image's configuration was refused: %.150s", why.msg);
        /* A place for every value, and for the end of each list. */
        r.strings = ret->memory[1] = calloc(doc.n + 8, sizeof(char *));
        r.pairs = ret->memory[2] = calloc(doc.n + 1, sizeof(struct image_pair));
        if (!r.strings || !r.pairs)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "an image's configuration");
        read_document(&r, doc.values, text + len, ret);
        *r.strings = NULL;
        ret->names = r.strings;
        return r.failed;
}
