#include "image/store/layer_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/foreign_json.h"
#include "image/unpack/digest.h"
#include "image/unpack/tree.h"
#include "sys/file.h"

#define RECORD_MAX ((size_t)100 << 20) /* two full lists, with every byte encoded as three */
#define RECORD_VALUES (2 * PATHS_MAX + 64)
#define RECORD_SIZE (DIGEST_HEX + 32) /* "layers/", a digest, ".json" */

void layer_done(struct layer *layer)
{
        paths_done(&layer->whiteouts);
        paths_done(&layer->opaque);
}

static int parse_record(const char *text, size_t len, struct layer *ret)
{
        AUTO(json_decref) json_t *top = foreign_json_parse(text, len, RECORD_VALUES, 0, NULL);
        int64_t bytes, files, disk;
        if (!foreign_json_get_integer(top, "bytes", &bytes) || bytes < 0 ||
            !foreign_json_get_integer(top, "files", &files) || files < 0)
                return -EINVAL;
        ret->bytes = (uint64_t)bytes;
        ret->files = (uint64_t)files;
        ret->disk = foreign_json_get_integer(top, "disk", &disk) && disk >= 0
                            ? (uint64_t)disk
                            : ret->bytes + ret->files * LAYER_ENTRY; /* a record of an earlier version */
        int r = paths_from_json(json_object_get(top, "whiteouts"), &ret->whiteouts);
        return r < 0 ? r : paths_from_json(json_object_get(top, "opaque"), &ret->opaque);
}

int layer_read(int store, int tmp, const char *diff, struct layer *ret, struct cella_err *err)
{
        AUTO(layer_done) struct layer layer = {0};
        char path[RECORD_SIZE], *text = NULL;
        size_t len = 0;
        snprintf(path, sizeof path, "layers/%s.json", diff);
        int r = tree_read(store, path, RECORD_MAX, &text, &len);
        if (r == -ENOENT && tmp >= 0)
                r = tree_read(tmp, path + strlen("layers/"), RECORD_MAX, &text, &len);
        if (r == 0)
                r = parse_record(text, len, &layer);
        free(text);
        if (r == -ENOENT)
                return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                               "a layer of the image is missing: sha256:%.12s", diff);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot read the store's layer %.12s", diff);
        *ret = layer;
        layer = (struct layer){0};
        return 0;
}

int layer_write(int dir, const char *diff, const char *blob, const struct layer *layer)
{
        char name[RECORD_SIZE];
        AUTO(json_decref)
        json_t *record =
                json_pack("{s:o,s:o,s:I,s:I,s:I,s:s+,s:s+}", "whiteouts", paths_to_json(&layer->whiteouts),
                          "opaque", paths_to_json(&layer->opaque), "bytes", (json_int_t)layer->bytes, "files",
                          (json_int_t)layer->files, "disk", (json_int_t)layer->disk, "digest",
                          "sha256:", diff, "blob", "sha256:", blob);
        char *text = json_dumps(record, JSON_COMPACT);
        if (!text)
                return -ENOMEM;
        snprintf(name, sizeof name, "%s.json", diff);
        int r = tree_write(dir, dir, name, text, strlen(text));
        free(text);
        return r;
}

static bool is_record(const char *name)
{
        return strlen(name) == DIGEST_HEX + strlen(".json") && strcmp(name + DIGEST_HEX, ".json") == 0;
}

static int add_disk(int dir, const char *name, uint64_t *all)
{
        AUTO(layer_done) struct layer layer = {0};
        char *text = NULL;
        size_t len = 0;
        int r = tree_read(dir, name, RECORD_MAX, &text, &len);
        if (r == 0)
                r = parse_record(text, len, &layer);
        free(text);
        *all += layer.disk;
        return r == -ENOMEM ? r : 0; /* an unreadable record is ignored, so that gc can remove it */
}

int layers_disk(int dir, uint64_t *ret)
{
        const struct dirent *entry;
        int r = 0, copy = tree_open(dir, ".", O_RDONLY | O_DIRECTORY);
        DIR *list = copy < 0 ? NULL : fdopendir(copy);
        *ret = 0;
        if (!list) {
                sys_close(copy);
                return copy < 0 ? copy : -ENOMEM;
        }
        while (r == 0 && (entry = readdir(list)))
                if (is_record(entry->d_name))
                        r = add_disk(dir, entry->d_name, ret);
        closedir(list);
        return r;
}
