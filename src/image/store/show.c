/* image/store/show.c -- an image as JSON, for `cella image` and the HTTP API (store.h). */
#include "base/json.h"
#include "image/store/store.h"

static void image_show_put_list(struct json *j, const char *key, const char *const *list)
{
        json_put_open(j, key, '[');
        for (; list && *list; list++)
                json_put_string(j, NULL, *list);
        json_put_close(j, ']');
}

/* brief: without lists that can be long. */
static void put_config(struct json *j, const struct image *image, bool brief)
{
        json_put_open(j, "config", '{');
        if (!brief)
                image_show_put_list(j, "env", image->env);
        json_put_string(j, "cwd", image->cwd);
        json_put_string(j, "user", image->user);
        json_put_number(j, "uid", image->uid);
        json_put_number(j, "gid", image->gid);
        if (!brief) {
                image_show_put_list(j, "entrypoint", image->entrypoint);
                image_show_put_list(j, "cmd", image->cmd);
                json_put_open(j, "labels", '{');
                for (size_t i = 0; i < image->n_labels; i++)
                        json_put_string(j, image->labels[i].name, image->labels[i].value);
                json_put_close(j, '}');
        }
        json_put_close(j, '}');
}

static void image_show_put(struct json *j, const char *key, const struct image *image, bool brief)
{
        json_put_open(j, key, '{');
        json_put_string(j, "id", image->id);
        if (image->digest[0])
                json_put_string(j, "digest", image->digest);
        else
                json_put_null(j, "digest");
        image_show_put_list(j, "names", image->names);
        json_put_number(j, "created_ms", image->created_ms);
        json_put_number(j, "bytes", image->bytes);
        json_put_number(j, "files", image->files);
        json_put_string(j, "platform", image->platform);
        json_put_string(j, "source", image->source);
        if (!brief)
                image_show_put_list(j, "layers", image->layers);
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
        image_show_put(j, key, image, false);
}

void image_put_brief(struct json *j, const char *key, const struct image *image)
{
        image_show_put(j, key, image, true);
}
