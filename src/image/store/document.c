/* image/store/document.c -- the document about an image: written as JSON, and read back (store.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_read.h"
#include "image/store/store.h"

#define VALUES_MAX 8192
#define ID_MAX 0x7ffffffe /* of users and groups: what every kernel interface can say */

struct image *image_free(struct image *image)
{
        if (!image)
                return NULL;
        for (size_t i = 0; i < ARRAY_LEN(image->memory); i++)
                free(image->memory[i]);
        free(image);
        return NULL;
}

/* ---- reading ---- */

struct parser {
        const char **strings; /* what is left of the block for lists; it has room for every value */
        struct image_pair *pairs;
        bool bad;
};

/* Without a NUL in it: what follows would be lost without a word. */
static const char *text_of(struct parser *p, const struct json_value *v)
{
        if (v && v->type == JSON_STRING && strlen(v->text) == v->len)
                return v->text;
        p->bad = true;
        return "";
}

static const char *string(struct parser *p, const struct json_value *object, const char *name)
{
        const struct json_value *v = json_get(object, name);
        return !v || v->type == JSON_NULL ? "" : text_of(p, v);
}

static const char **list(struct parser *p, const struct json_value *object, const char *name)
{
        const struct json_value *array = json_get(object, name);
        const char **begin = p->strings;
        if (array && array->type != JSON_ARRAY && array->type != JSON_NULL)
                p->bad = true;
        for (const struct json_value *v = json_first(array); v; v = json_next(array, v))
                *p->strings++ = text_of(p, v);
        *p->strings++ = NULL;
        return begin;
}

static uint64_t number(struct parser *p, const struct json_value *object, const char *name, uint64_t max)
{
        int64_t value = 0;
        if (json_get(object, name) &&
            (!json_get_integer(object, name, &value) || value < 0 || (uint64_t)value > max))
                p->bad = true;
        return p->bad ? 0 : (uint64_t)value;
}

static const struct image_pair *labels(struct parser *p, const struct json_value *config, size_t *n)
{
        const struct json_value *object = json_get(config, "labels");
        const struct image_pair *begin = p->pairs;
        if (object && object->type != JSON_OBJECT)
                p->bad = true;
        else
                for (const struct json_value *v = json_first(object); v; v = json_next(object, v))
                        *p->pairs++ = (struct image_pair){text_of(p, v), text_of(p, v + 1)};
        *n = (size_t)(p->pairs - begin);
        return begin;
}

static const struct image_pair *runtimes(struct parser *p, const struct json_value *top, size_t *n)
{
        const struct json_value *array = json_get(top, "runtimes");
        const struct image_pair *begin = p->pairs;
        if (array && array->type != JSON_ARRAY)
                p->bad = true;
        for (const struct json_value *v = json_first(array); v; v = json_next(array, v)) {
                const char *program = string(p, v, "program");
                if (program[0] != '/')
                        p->bad = true;
                *p->pairs++ = (struct image_pair){string(p, v, "name"), program};
        }
        *n = (size_t)(p->pairs - begin);
        return begin;
}

static bool all_variables(const char *const *env)
{
        for (; *env; env++)
                if (!strchr(*env, '=') || (*env)[0] == '=')
                        return false;
        return true;
}

/* Every pointer has a place: a string is one value, a pair two, and there are fewer lists than 8. */
static int parse(struct image *image, const struct json_doc *doc, const char *id)
{
        const struct json_value *top = doc->values, *config = json_get(top, "config");
        struct parser p = {0};
        image->memory[1] = calloc(doc->n + 8, sizeof(char *));
        image->memory[2] = calloc(doc->n + 1, sizeof(struct image_pair));
        p.strings = image->memory[1];
        p.pairs = image->memory[2];
        if (!p.strings || !p.pairs)
                return -ENOMEM;
        if (!config || config->type != JSON_OBJECT || strcmp(string(&p, top, "id"), id) != 0)
                return -EINVAL;
        memcpy(image->id, id, IMAGE_ID_LEN + 1);
        image->digest = string(&p, top, "digest");
        image->platform = string(&p, top, "platform");
        image->source = string(&p, top, "source");
        image->created_ms = number(&p, top, "created_ms", INT64_MAX);
        image->bytes = number(&p, top, "bytes", INT64_MAX);
        image->files = number(&p, top, "files", INT64_MAX);
        image->layers = list(&p, top, "layers");
        image->env = list(&p, config, "env");
        image->cwd = string(&p, config, "cwd");
        image->user = string(&p, config, "user");
        image->uid = (uint32_t)number(&p, config, "uid", ID_MAX);
        image->gid = (uint32_t)number(&p, config, "gid", ID_MAX);
        image->entrypoint = list(&p, config, "entrypoint");
        image->cmd = list(&p, config, "cmd");
        image->labels = labels(&p, config, &image->n_labels);
        image->runtimes = runtimes(&p, top, &image->n_runtimes);
        *p.strings = NULL;
        image->names = p.strings;
        return p.bad || image->cwd[0] != '/' || !all_variables(image->env) ||
                               image->n_runtimes > IMAGE_RUNTIMES_MAX
                       ? -EINVAL
                       : 0;
}

int image_parse(char *text, size_t len, const char *id, const char *store, struct image **ret,
                struct cella_err *err)
{
        AUTO(json_doc_done) struct json_doc doc = {0};
        AUTO(image_free) struct image *image = calloc(1, sizeof *image);
        size_t root_size = (store ? strlen(store) : 0) + IMAGE_ID_LEN + 8;
        char *memory = malloc(len + 1 + root_size);
        if (!image || !memory) {
                free(text);
                free(memory);
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "an image");
        }
        memcpy(memory, text, len);
        free(text);
        image->memory[0] = memory;
        image->root = memory + len + 1;
        snprintf(image->root, root_size, "%s%sroots/%s", store ? store : "", store ? "/" : "", id);
        int r = json_read(memory, len, VALUES_MAX, &doc, NULL);
        if (r == 0)
                r = parse(image, &doc, id);
        if (r < 0) {
                err_say(err, CELLA_INTERNAL, r, "what the store says about image %.12s makes no sense", id);
                return err_hint(err, "cella image gc removes it; then get it again");
        }
        *ret = TAKE(image);
        return 0;
}

const char *image_runtime(const struct image *image, const char *name)
{
        for (size_t i = 0; i < image->n_runtimes; i++)
                if (strcmp(image->runtimes[i].name, name) == 0)
                        return image->runtimes[i].value;
        return NULL;
}

/* ---- writing ---- */

static void put_list(struct json *j, const char *key, const char *const *list)
{
        json_put_open(j, key, '[');
        for (; list && *list; list++)
                json_put_string(j, NULL, *list);
        json_put_close(j, ']');
}

/* What an image says about running it; brief: without what it can make long. */
static void put_config(struct json *j, const struct image *image, bool brief)
{
        json_put_open(j, "config", '{');
        if (!brief)
                put_list(j, "env", image->env);
        json_put_string(j, "cwd", image->cwd);
        json_put_string(j, "user", image->user);
        json_put_number(j, "uid", image->uid);
        json_put_number(j, "gid", image->gid);
        if (!brief) {
                put_list(j, "entrypoint", image->entrypoint);
                put_list(j, "cmd", image->cmd);
                json_put_open(j, "labels", '{');
                for (size_t i = 0; i < image->n_labels; i++)
                        json_put_string(j, image->labels[i].name, image->labels[i].value);
                json_put_close(j, '}');
        }
        json_put_close(j, '}');
}

static void put(struct json *j, const char *key, const struct image *image, bool brief)
{
        json_put_open(j, key, '{');
        json_put_string(j, "id", image->id);
        if (image->digest[0])
                json_put_string(j, "digest", image->digest);
        else
                json_put_null(j, "digest");
        put_list(j, "names", image->names);
        json_put_number(j, "created_ms", image->created_ms);
        json_put_number(j, "bytes", image->bytes);
        json_put_number(j, "files", image->files);
        json_put_string(j, "platform", image->platform);
        json_put_string(j, "source", image->source);
        if (!brief)
                put_list(j, "layers", image->layers);
        put_config(j, image, brief);
        json_put_open(j, "runtimes", '[');
        for (size_t i = 0; i < image->n_runtimes; i++) {
                json_put_open(j, NULL, '{');
                json_put_string(j, "name", image->runtimes[i].name);
                json_put_string(j, "program", image->runtimes[i].value);
                json_put_close(j, '}');
        }
        json_put_close(j, ']');
        json_put_close(j, '}');
}

void image_put(struct json *j, const char *key, const struct image *image)
{
        put(j, key, image, false);
}

void image_put_brief(struct json *j, const char *key, const struct image *image)
{
        put(j, key, image, true);
}
