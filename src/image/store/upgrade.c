#include "image/store/upgrade.h"

#include <dirent.h>
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

static void put_value(FILE *out, const char *key, const json_t *value)
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
                        put_value(out, key, element);
}

static void put_fields(FILE *out, const json_t *object, const struct field *fields, size_t n)
{
        for (size_t i = 0; i < n; i++)
                put_value(out, fields[i].key, json_object_get(object, fields[i].name));
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
        fprintf(out, "cella-image 1%c", '\0');
        put_fields(out, top, fields, ARRAY_LEN(fields));
        put_fields(out, config, config_fields, ARRAY_LEN(config_fields));
        json_object_foreach (json_object_get(config, "labels"), name, value)
                put_pair(out, "label", name, foreign_json_text(value));
        json_array_foreach (json_object_get(top, "runtimes"), i, value)
                put_pair(out, "runtime", foreign_json_get_text(value, "name"),
                         foreign_json_get_text(value, "program"));
}

static void upgrade(int store, int tmp, const char *id)
{
        AUTO(image_free) struct image *image = NULL;
        char from[IMAGE_ID_LEN + 16], to[IMAGE_ID_LEN + 16], *json = NULL, *text = NULL;
        size_t json_len = 0, len = 0;
        snprintf(from, sizeof from, "meta/%s.json", id);
        snprintf(to, sizeof to, "meta/%s", id);
        if (tree_read(store, from, IMAGE_META_MAX, &json, &json_len) < 0)
                return;
        AUTO(json_decref) json_t *top = foreign_json_parse(json, json_len, VALUES_MAX, 0, NULL);
        FILE *out = top ? open_memstream(&text, &len) : NULL;
        if (out)
                put_document(out, top);
        if (out && fclose(out) == 0 && image_parse(text, len, id, NULL, &image, NULL) == 0 &&
            tree_write(tmp, store, to, text, len) == 0)
                sys_unlinkat(store, from, 0);
        free(text);
        free(json);
}

void upgrade_documents(int store)
{
        char id[IMAGE_ID_LEN + 1];
        const struct dirent *entry;
        AUTO(sys_close) int tmp = tree_open(store, "tmp", O_RDONLY | O_DIRECTORY);
        int meta = tmp < 0 ? -1 : tree_open(store, "meta", O_RDONLY | O_DIRECTORY);
        DIR *list = meta < 0 ? NULL : fdopendir(meta);
        if (!list) {
                sys_close(meta);
                return;
        }
        while ((entry = readdir(list))) {
                if (strlen(entry->d_name) != IMAGE_ID_LEN + strlen(".json") ||
                    strcmp(entry->d_name + IMAGE_ID_LEN, ".json") != 0)
                        continue;
                memcpy(id, entry->d_name, IMAGE_ID_LEN);
                id[IMAGE_ID_LEN] = '\0';
                if (image_id_valid(id))
                        upgrade(store, tmp, id);
        }
        closedir(list);
}
