#include "image/store/upgrade.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_json.h"
#include "image/store/store.h"
#include "image/unpack/tree.h"
#include "sys/file.h"

#define VALUES_MAX 8192

/* Copies strings, numbers and lists of an object as records with other names (document.c).  Their values are
 * checked when the document is parsed. */
struct field {
        const char *name, *key;
};

static void upgrade_put_value(FILE *out, const char *key, const json_t *value)
{
        const char *text = foreign_json_text(value);
        size_t i;
        json_t *element;
        if (text)
                fprintf(out, "%s %s%c", key, text, '\0');
        else if (json_is_integer(value))
                fprintf(out, "%s %lld%c", key, (long long)json_integer_value(value), '\0');
        else
                json_array_foreach (value, i, element)
                        upgrade_put_value(out, key, element);
}

static void put_fields(FILE *out, const json_t *object, const struct field *fields, size_t n)
{
        for (size_t i = 0; i < n; i++)
                upgrade_put_value(out, fields[i].key, json_object_get(object, fields[i].name));
}

static void put_pair(FILE *out, const char *key, const char *name, const char *value)
{
        if (name && value)
                fprintf(out, "%s %s%c=%s%c", key, name, '\0', value, '\0');
}

static void put_document(FILE *out, const json_t *top)
{
        static const struct field fields[] = {
                {"id", "id"},         {"digest", "digest"},         {"platform", "platform"},
                {"source", "source"}, {"created_ms", "created_ms"}, {"bytes", "bytes"},
                {"files", "files"},   {"layers", "layer"}};
        static const struct field config_fields[] = {{"env", "env"},   {"cwd", "cwd"},
                                                     {"user", "user"}, {"uid", "uid"},
                                                     {"gid", "gid"},   {"entrypoint", "entrypoint"},
                                                     {"cmd", "cmd"}};
        const json_t *config = json_object_get(top, "config");
        const char *name;
        size_t i;
        json_t *value;
        fprintf(out, "%s%c", IMAGE_META_VERSION, '\0');
        put_fields(out, top, fields, ARRAY_LEN(fields));
        put_fields(out, config, config_fields, ARRAY_LEN(config_fields));
        json_object_foreach (json_object_get(config, "labels"), name, value)
                put_pair(out, "label", name, foreign_json_text(value));
        json_array_foreach (json_object_get(top, "runtimes"), i, value)
                put_pair(out, "runtime", foreign_json_get_text(value, "name"),
                         foreign_json_get_text(value, "program"));
}

/* Writes the new document.  Returns -EINVAL if the old one is invalid or too long. */
static int convert(int store, int tmp, const char *id, const char *json, size_t json_len, const char *to)
{
        AUTO(image_free) struct image *image = NULL;
        AUTO(json_decref) json_t *top = foreign_json_parse(json, json_len, VALUES_MAX, 0, NULL);
        char *text = NULL;
        size_t len = 0;
        if (!top)
                return -EINVAL;
        FILE *out = open_memstream(&text, &len);
        if (out)
                put_document(out, top);
        int r = !out || fclose(out) != 0 ? -ENOMEM : 0;
        if (r == 0 && (len > IMAGE_META_MAX || image_parse(text, len, id, NULL, &image, NULL) < 0))
                r = -EINVAL;
        if (r == 0)
                r = tree_write(tmp, store, to, text, len);
        free(text);
        return r;
}

/* Returns 0 also if the old document is invalid; it stays then. */
static int upgrade(int store, int tmp, const char *id)
{
        AUTO(image_free) struct image *image = NULL;
        char from[IMAGE_ID_LEN + 16], to[IMAGE_ID_LEN + 16], *json = NULL;
        size_t json_len = 0;
        snprintf(from, sizeof from, "meta/%s.json", id);
        snprintf(to, sizeof to, "meta/%s", id);
        int r = 0;
        if (image_read(store, NULL, id, &image, NULL) < 0) { /* else a crash left both */
                r = tree_read(store, from, IMAGE_META_MAX, &json, &json_len);
                if (r >= 0)
                        r = convert(store, tmp, id, json, json_len, to);
                free(json);
        }
        if (r >= 0)
                r = sys_unlinkat(store, from, 0);
        return r == -EINVAL || r == -EFBIG ? 0 : r;
}

int upgrade_documents(int store)
{
        char id[IMAGE_ID_LEN + 1];
        const struct dirent *entry;
        int r = 0;
        AUTO(sys_close) int tmp = tree_open(store, "tmp", O_RDONLY | O_DIRECTORY);
        int meta = tmp < 0 ? tmp : tree_open(store, "meta", O_RDONLY | O_DIRECTORY);
        if (meta < 0)
                return meta == -ENOENT ? 0 : meta;
        DIR *list = fdopendir(meta);
        if (!list) {
                sys_close(meta);
                return -ENOMEM;
        }
        while (r == 0 && (entry = readdir(list))) {
                if (strlen(entry->d_name) != IMAGE_ID_LEN + strlen(".json") ||
                    strcmp(entry->d_name + IMAGE_ID_LEN, ".json") != 0)
                        continue;
                memcpy(id, entry->d_name, IMAGE_ID_LEN);
                id[IMAGE_ID_LEN] = '\0';
                if (image_id_valid(id))
                        r = upgrade(store, tmp, id);
        }
        closedir(list);
        return r;
}
