#include "image/unpack/import.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/foreign_json.h"
#include "image/store/reference.h"
#include "image/unpack/tree.h"
#include "image/unpack/unpack.h"

#define LOOKED_AT 16 /* entries that are examined to detect the kind of archive */

/* ---- the kind of archive ---- */

/* Names that occur at the start of archives of images, and never in a root directory. */
static bool is_image_file(const char *name)
{
        static const char *const known[] = {"oci-layout", "index.json", "manifest.json", "repositories",
                                            "blobs"};
        size_t len = strcspn(name, "/");
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
                if (strlen(known[i]) == len && memcmp(name, known[i], len) == 0)
                        return true;
        return strspn(name, "0123456789abcdef") == DIGEST_HEX;
}

/* Decides by the names in the first block, as far as libarchive can parse it. */
static bool is_image_archive(const void *data, size_t len)
{
        struct archive *a = archive_read_new();
        struct archive_entry *entry;
        bool found = false;
        if (a && archive_read_support_format_tar(a) == ARCHIVE_OK &&
            archive_read_open_memory(a, data, len) == ARCHIVE_OK)
                for (int i = 0; i < LOOKED_AT && archive_read_next_header(a, &entry) >= ARCHIVE_WARN; i++) {
                        char path[TREE_PATH_MAX];
                        const char *name = archive_entry_pathname(entry);
                        if (!name || tree_path(name, path) < 0)
                                break;
                        if (path[0] == '\0')
                                continue; /* "./" */
                        found = is_image_file(path);
                        break;
                }
        archive_read_free(a);
        return found;
}

/* ---- images ---- */

static int check_layers(const struct importing *in, const struct part *config, const char *const *layers,
                        size_t n, struct cella_err *err)
{
        char diffs[LAYERS_MAX][DIGEST_HEX + 1];
        size_t wanted = 0;
        int r = writer_config_layers(config->text, config->len, diffs, &wanted, err);
        if (r < 0)
                return r;
        if (wanted != n)
                return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                               "the archive lists %zu layers for an image with %zu layers", n, wanted);
        for (size_t i = 0; i < n; i++) {
                const struct part *layer = parts_need(in->parts, layers[i], PART_LAYER, err);
                if (!layer)
                        return -EBADMSG;
                if (strcmp(layer->diff, diffs[i]) != 0)
                        return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                                       "the layer '%.60s' has the digest sha256:%.16s..., but its image "
                                       "expects sha256:%.16s...",
                                       layers[i], layer->diff, diffs[i]);
        }
        return 0;
}

static int import_commit(struct importing *in, const struct image_parts *parts, struct cella_err *err)
{
        struct imported *ret = in->ret;
        if (ret->n == IMPORT_IMAGES_MAX)
                return err_say(err, CELLA_TOO_LARGE, -E2BIG, "the archive has more than %d images",
                               IMPORT_IMAGES_MAX);
        if (!parts->names[0]) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "the archive has no name for its image");
                return err_hint(err, "cella image import FILE NAME");
        }
        ret->image = image_free(ret->image);
        int r = writer_commit(in->w, parts, &ret->image, err);
        if (r == 0)
                memcpy(ret->ids[ret->n++], ret->image->id, sizeof ret->image->id);
        return r;
}

int import_image(struct importing *in, const struct part *config, const char *const *layers, size_t n,
                 const char *digest, const char *const *names, struct cella_err *err)
{
        const char *given[] = {in->name, NULL};
        const struct image_parts parts = {
                .config = config->text,
                .config_len = config->len,
                .digest = digest,
                .names = in->name ? given : names,
                .source = in->source,
        };
        int r = check_layers(in, config, layers, n, err);
        return r < 0 || in->only_check ? r : import_commit(in, &parts, err);
}

static int import_parts(struct importing *in, struct stream *stream, struct cella_err *err)
{
        stream_no_diff(stream);
        int r = parts_read(in->job, in->w, stream, in->parts, err);
        if (r < 0)
                return r;
        const struct part *manifest = parts_find(in->parts, "manifest.json"),
                          *index = parts_find(in->parts, "index.json");
        if (manifest && manifest->kind == PART_TEXT)
                return import_docker(in, manifest, err);
        if (index && index->kind == PART_TEXT)
                return import_oci(in, index, err);
        err_say(err, CELLA_INVALID_REQUEST, -EBADMSG, "the archive has neither manifest.json nor index.json");
        return err_hint(err, "import an archive of docker save or skopeo, or a root directory as tar");
}

/* ---- a root directory ---- */

/* Creates the configuration of an image from a root directory.  Its digest is the image's id.  So the same
 * archive must give the same text every time; if this text changes, a later version gives the archive another
 * id. */
static int write_config(const struct importing *in, const char *diff, char **ret, size_t *ret_len)
{
        const json_t *config = json_object_get(in->job->request, "config");
        AUTO(json_decref)
        json_t *top = json_pack("{s:s,s:s,s:O*,s:{s:s,s:[s+]}}", "architecture", in->platform.architecture,
                                "os", in->platform.os, "config", config, "rootfs", "type", "layers",
                                "diff_ids", "sha256:", diff);
        *ret = json_dumps(top, 0);
        *ret_len = *ret ? strlen(*ret) : 0;
        return *ret ? 0 : -ENOMEM;
}

static int import_root(struct importing *in, const struct layer_source *source, struct stream *stream,
                       struct cella_err *err)
{
        char diff[DIGEST_HEX + 1], *config = NULL;
        size_t len = 0;
        const char *names[] = {in->name, NULL};
        if (!in->name) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                        "the archive is a root directory, so the image needs a name");
                return err_hint(err, "cella image import FILE NAME");
        }
        int r = writer_add_stream(in->w, stream, source, diff, err);
        if (r < 0)
                return r;
        r = write_config(in, diff, &config, &len);
        const struct image_parts parts = {
                .config = config, .config_len = len, .names = names, .source = in->source};
        r = r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot import an image")
                  : import_commit(in, &parts, err);
        free(config);
        return r;
}

/* ---- the operation ---- */

/* An image that is pinned by an id or a digest must not be replaced by another one with such a name. */
int import_check_name(const char *name, const struct reference *reference, struct cella_err *err)
{
        if (!reference->digest[0] && !image_name_is_id(name))
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                "'%.120s' cannot be the name of an import: it has the form of %s", name,
                reference->digest[0] ? "a digest" : "an id");
        return err_hint(err, "use NAME or NAME:TAG");
}

static int read_request(struct importing *in, struct cella_err *err)
{
        const char *name = foreign_json_get_text(in->job->request, "name"),
                   *platform = foreign_json_get_text(in->job->request, "platform"),
                   *source = foreign_json_get_text(in->job->request, "source");
        struct reference reference;
        if (name) {
                in->name = name;
                if (strcmp(in->name, IMAGE_HOST) == 0)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                       "'" IMAGE_HOST
                                       "' means this machine and cannot be the name of an image");
                if (reference_parse(in->name, &reference, err) < 0 ||
                    import_check_name(in->name, &reference, err) < 0)
                        return -EINVAL;
        }
        in->source = source && strcmp(source, "bootstrap") == 0 ? "bootstrap" : "import";
        platform_of_this_machine(&in->platform);
        return platform ? platform_parse(platform, &in->platform, err) : 0;
}

static uint64_t size_of(int fd)
{
        struct stat st;
        return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

int import(struct imager_job *job, struct imported *ret, struct cella_err *err)
{
        const struct layer_source source = {.fd = job->archive, .total = size_of(job->archive)};
        AUTO(writer_close) struct writer *w = NULL;
        AUTO(parts_done) struct parts parts = {0};
        /* The last variable: its threads must end before anything else is released. */
        AUTO(stream_close) struct stream *stream = NULL;
        struct importing in = {.job = job, .parts = &parts, .ret = ret};
        const void *data;
        int r = read_request(&in, err);
        if (r < 0)
                return r;
        if ((r = writer_open(job, &w, err)) < 0 ||
            (r = stream_open(job, &source, writer_stream_max(w), &stream, err)) < 0)
                return r;
        in.w = w;
        ssize_t n = stream_peek(stream, &data);
        if (n < 0)
                return stream_error(stream, err);
        if (n == 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG, "the archive is empty");
        return is_image_archive(data, (size_t)n) ? import_parts(&in, stream, err)
                                                 : import_root(&in, &source, stream, err);
}
