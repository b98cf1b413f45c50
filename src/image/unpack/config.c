#include "image/unpack/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/foreign_json.h"
#include "image/registry/manifest.h"
#include "image/unpack/digest.h"

#define VALUES_MAX 65536
#define ENV_MAX ((size_t)20 << 10) /* bytes; all these parts together must fit into a meta */
#define ARGUMENTS_MAX ((size_t)8 << 10)
#define LABELS_MAX ((size_t)6 << 10)
#define TEXT_MAX 1024

struct reading {
        char *text;           /* free part of the block for strings; it is as long as the document */
        const char **strings; /* free part of the block for lists */
        struct image_pair *pairs;
        struct cella_err *err;
        int failed;
};

static void image_config_broken(struct reading *r, const char *what, const char *how)
{
        if (r->failed == 0)
                r->failed = err_say(r->err, CELLA_INVALID_REQUEST, -EBADMSG,
                                    "the image's configuration was refused: %s %s", what, how);
}

/* Copies a string into the image's memory.  The copy with its NUL is never longer than the quoted string. */
static const char *keep_text(struct reading *r, const char *text)
{
        const char *copy = r->text;
        r->text = stpcpy(r->text, text) + 1;
        return copy;
}

/* Returns a text of the document, at most TEXT_MAX bytes; "" if it is missing or refused. */
static const char *get_text(struct reading *r, const json_t *object, const char *name)
{
        const char *text = foreign_json_get_text(object, name);
        if (foreign_json_is_absent(object, name))
                return "";
        if (!text)
                image_config_broken(r, name, "is not a string");
        else if (strlen(text) > TEXT_MAX)
                image_config_broken(r, name, "is too long");
        else
                return text;
        return "";
}

static void add_text(struct reading *r, const json_t *value, const char *name, size_t *left)
{
        const char *text = foreign_json_text(value);
        if (!text) {
                image_config_broken(r, name, "is not a list of strings");
        } else if (strlen(text) + 1 > *left) {
                image_config_broken(r, name, "is too long");
        } else {
                *left -= strlen(text) + 1;
                *r->strings++ = keep_text(r, text);
        }
}

static const char **get_list(struct reading *r, const json_t *object, const char *name, size_t max)
{
        const json_t *list = json_object_get(object, name);
        const char **begin = r->strings;
        size_t i;
        json_t *value;
        if (!foreign_json_is_absent(object, name) && !json_is_array(list))
                image_config_broken(r, name, "is not a list of strings");
        json_array_foreach (list, i, value)
                if (r->failed == 0)
                        add_text(r, value, name, &max);
        *r->strings++ = NULL;
        return begin;
}

/* A single text means a list of one text, as in Docker. */
static const char **get_arguments(struct reading *r, const json_t *config, const char *name)
{
        const json_t *v = json_object_get(config, name);
        const char **begin = r->strings;
        size_t left = ARGUMENTS_MAX;
        if (!foreign_json_text(v))
                return get_list(r, config, name, ARGUMENTS_MAX);
        add_text(r, v, name, &left);
        *r->strings++ = NULL;
        return begin;
}

/* Returns the next element of the list that sets the same variable, or NULL. */
static const char *const *set_again(const char *const *list, const char *variable)
{
        const size_t len = strcspn(variable, "=") + 1;
        for (; *list; list++)
                if (strncmp(*list, variable, len) == 0)
                        return list;
        return NULL;
}

/* Elements that are not NAME=VALUE are omitted.  If a variable is set twice the last value is kept, because
 * programs differ in which one they use. */
static const char **get_env(struct reading *r, const json_t *config)
{
        const char **env = get_list(r, config, "Env", ENV_MAX), **to = env;
        for (const char **from = env; *from; from++)
                if (strchr(*from, '=') && (*from)[0] != '=' && !set_again(from + 1, *from))
                        *to++ = *from;
        *to = NULL;
        return env;
}

/* Labels that are not strings or do not fit are omitted.  The size is that of the records "label NAME" and
 * "=VALUE" of store/document.c, with their NULs. */
static const struct image_pair *get_labels(struct reading *r, const json_t *config, size_t *n)
{
        json_t *labels = json_object_get(config, "Labels"), *value;
        const struct image_pair *begin = r->pairs;
        const char *name;
        size_t left = LABELS_MAX;
        if (!foreign_json_is_absent(config, "Labels") && !json_is_object(labels))
                image_config_broken(r, "Labels", "is not an object");
        json_object_foreach (labels, name, value) {
                const char *text = foreign_json_text(value);
                size_t size = strlen(name) + json_string_length(value) + sizeof "label " + sizeof "=";
                if (!text || size > left)
                        continue;
                left -= size;
                const char *kept_name = keep_text(r, name);
                *r->pairs++ = (struct image_pair){kept_name, keep_text(r, text)};
        }
        *n = (size_t)(r->pairs - begin);
        return begin;
}

static const char **get_layers(struct reading *r, const json_t *top)
{
        const json_t *rootfs = json_object_get(top, "rootfs");
        const char **layers = get_list(r, rootfs, "diff_ids", LAYERS_MAX * (DIGEST_HEX + 8));
        for (const char **p = layers; *p; p++)
                if (!digest_is_valid(*p))
                        image_config_broken(r, "rootfs.diff_ids", "is not a list of digests");
        if (!layers[0])
                image_config_broken(r, "rootfs.diff_ids", "has no layer");
        return layers;
}

static const char *get_platform(struct reading *r, const json_t *top, char *text, size_t size)
{
        struct platform own, p;
        const char *os = get_text(r, top, "os"), *architecture = get_text(r, top, "architecture"),
                   *variant = get_text(r, top, "variant");
        platform_of_this_machine(&own);
        if (os[0] && strcmp(os, "linux") != 0)
                image_config_broken(r, "it", "is not for Linux");
        snprintf(text, size, "linux/%s%s%s", architecture[0] ? architecture : own.architecture,
                 variant[0] ? "/" : "", variant);
        if (platform_parse(text, &p, NULL) < 0)
                image_config_broken(r, "architecture", "is not the name of a processor");
        return text;
}

/* Normalises the path: absolute, without "." and "..", as Docker does. */
static const char *get_cwd(struct reading *r, const json_t *config, char *text)
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

static void read_document(struct reading *r, const json_t *top, char *more, struct image *ret)
{
        const json_t *config = json_object_get(top, "config");
        if (!json_is_object(top))
                image_config_broken(r, "it", "is not an object");
        if (!foreign_json_is_absent(top, "config") && !json_is_object(config))
                image_config_broken(r, "config", "is not an object");
        ret->platform = get_platform(r, top, more, MANIFEST_PLATFORM_SIZE + 2 * TEXT_MAX);
        ret->layers = get_layers(r, top);
        ret->env = get_env(r, config);
        ret->cwd = get_cwd(r, config, more + MANIFEST_PLATFORM_SIZE + 2 * TEXT_MAX);
        ret->user = keep_text(r, get_text(r, config, "User"));
        ret->entrypoint = get_arguments(r, config, "Entrypoint");
        ret->cmd = get_arguments(r, config, "Cmd");
        ret->labels = get_labels(r, config, &ret->n_labels);
        ret->digest = ret->source = "";
}

/* Returns the number of pointers that the lists and labels need: one for each string and each end of a
 * list. */
static size_t count_strings(const json_t *value)
{
        size_t n = 1, i;
        const char *name;
        json_t *v;
        if (json_is_array(value))
                json_array_foreach (value, i, v)
                        n += count_strings(v);
        else
                json_object_foreach ((json_t *)value, name, v)
                        n += count_strings(v);
        return n;
}

int config_read(const char *config, size_t len, struct image *ret, struct cella_err *err)
{
        const size_t more = MANIFEST_PLATFORM_SIZE + 3 * TEXT_MAX + 2;
        struct cella_err why = {0};
        if (len > CONFIG_MAX)
                return err_say(err, CELLA_TOO_LARGE, -EFBIG,
                               "the image's configuration is larger than %zu bytes", CONFIG_MAX);
        AUTO(json_decref) json_t *top = foreign_json_parse(config, len, VALUES_MAX, 0, &why);
        if (!top)
                return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                               "the image's configuration was refused: %.150s", why.msg);
        const size_t n = count_strings(top);
        ret->memory[0] = malloc(more + len + 1);
        ret->memory[1] = calloc(n + 8, sizeof(char *));
        ret->memory[2] = calloc(n, sizeof(struct image_pair));
        if (!ret->memory[0] || !ret->memory[1] || !ret->memory[2])
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "an image's configuration");
        struct reading r = {.text = (char *)ret->memory[0] + more,
                            .strings = ret->memory[1],
                            .pairs = ret->memory[2],
                            .err = err};
        read_document(&r, top, ret->memory[0], ret);
        *r.strings = NULL;
        ret->names = r.strings;
        return r.failed;
}
