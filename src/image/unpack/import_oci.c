/* image/unpack/import_oci.c -- an image layout as OCI describes it: index.json, oci-layout, blobs/sha256/. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "image/store/reference.h"
#include "image/unpack/import.h"

#define VALUES_MAX 65536
#define NESTED_MAX 4 /* lists of lists */
#define BLOB_SIZE (DIGEST_HEX + 24)

static void blob_name(const char *digest, char ret[BLOB_SIZE])
{
        snprintf(ret, BLOB_SIZE, "blobs/sha256/%s", digest + strlen("sha256:"));
}

/* manifest_read() changes what it reads. */
static int read_manifest(const struct part *part, const struct platform *want, struct manifest *ret,
                         struct cella_err *err)
{
        char *copy = malloc(part->len + 1);
        if (!copy)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot import an image");
        memcpy(copy, part->text, part->len + 1);
        int r = manifest_read(copy, part->len, NULL, want, ret, err);
        free(copy);
        return r;
}

/* Its name, where the index says one that is more than a tag. */
static bool find_name(const struct part *index, const char *digest, char ret[REFERENCE_SIZE])
{
        AUTO(json_doc_done) struct json_doc doc = {0};
        struct reference reference;
        const char *name = NULL;
        char *copy = strndup(index->text, index->len);
        if (copy && json_read(copy, strlen(copy), VALUES_MAX, &doc, NULL) == 0) {
                const struct json_value *list = json_get(doc.values, "manifests");
                for (const struct json_value *v = json_first(list); v && !name; v = json_next(list, v)) {
                        const char *said = json_get_string(v, "digest");
                        const struct json_value *notes = json_get(v, "annotations");
                        if (!said || strcmp(said, digest) != 0)
                                continue;
                        name = json_get_string(notes, "io.containerd.image.name");
                        if (!name)
                                name = json_get_string(notes, "org.opencontainers.image.ref.name");
                }
        }
        bool found = name && strpbrk(name, "/:") && reference_parse(name, &reference, NULL) == 0 &&
                     import_check_name(name, &reference, NULL) == 0;
        if (found)
                reference_write(&reference, ret);
        free(copy);
        return found;
}

static int import_manifest(struct importing *in, const struct manifest *m, const char *digest,
                           const char *const *names, struct cella_err *err)
{
        char(*blobs)[BLOB_SIZE] = calloc(m->n_layers + 1, sizeof *blobs);
        const char *layers[MANIFEST_LAYERS_MAX];
        if (!blobs)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot import an image");
        for (size_t i = 0; i < m->n_layers; i++) {
                blob_name(m->layers[i].digest, blobs[i]);
                layers[i] = blobs[i];
        }
        blob_name(m->config.digest, blobs[m->n_layers]);
        const struct part *config = parts_need(in->parts, blobs[m->n_layers], PART_TEXT, err);
        int r = config ? import_image(in, config, layers, m->n_layers, digest, names, err) : -EBADMSG;
        free(blobs);
        return r;
}

int import_oci(struct importing *in, const struct part *index, struct cella_err *err)
{
        char digest[REFERENCE_DIGEST_SIZE] = "", name[REFERENCE_SIZE], blob[BLOB_SIZE];
        const char *names[2] = {NULL, NULL};
        const struct part *part = index;
        struct manifest *m = calloc(1, sizeof *m);
        if (!m)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot import an image");
        int r = read_manifest(part, &in->platform, m, err);
        for (int i = 0; r == 0 && m->kind == MANIFEST_LIST; i++) {
                memcpy(digest, m->chosen.digest, sizeof digest);
                if (!names[0] && find_name(index, digest, name))
                        names[0] = name;
                blob_name(digest, blob);
                part = i < NESTED_MAX ? parts_need(in->parts, blob, PART_TEXT, err) : NULL;
                if (i == NESTED_MAX)
                        err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                                "the archive's index has lists of lists of lists");
                r = part ? read_manifest(part, &in->platform, m, err) : -EBADMSG;
        }
        if (r == 0 && part == index)
                r = err_say(err, CELLA_INVALID_REQUEST, -EBADMSG, "index.json is not an index");
        if (r == 0)
                r = import_manifest(in, m, digest, names, err);
        free(m);
        return r;
}
