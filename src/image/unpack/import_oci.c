/* image/unpack/import_oci.c -- an image layout as OCI describes it: index.json, oci-layout, blobs/sha256/. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/foreign_json.h"
#include "image/store/reference.h"
#include "image/unpack/import.h"

#define VALUES_MAX 65536
#define NESTED_MAX 4 /* nesting of lists */
#define BLOB_SIZE (DIGEST_HEX + 24)

static void blob_name(const char *digest, char ret[BLOB_SIZE])
{
        snprintf(ret, BLOB_SIZE, "blobs/sha256/%s", digest + strlen("sha256:"));
}

/* Finds the name of a manifest in the index, if it is more than a tag. */
static bool find_name(const struct part *index, const char *digest, char ret[REFERENCE_SIZE])
{
        AUTO(json_decref) json_t *top = foreign_json_parse(index->text, index->len, VALUES_MAX, 0, NULL);
        struct reference reference;
        const char *name = NULL;
        size_t i;
        json_t *v;
        json_array_foreach (json_object_get(top, "manifests"), i, v) {
                const char *other = foreign_json_get_text(v, "digest");
                const json_t *notes = json_object_get(v, "annotations");
                if (name || !other || strcmp(other, digest) != 0)
                        continue;
                name = foreign_json_get_text(notes, "io.containerd.image.name");
                if (!name)
                        name = foreign_json_get_text(notes, "org.opencontainers.image.ref.name");
        }
        bool found = name && strpbrk(name, "/:") && reference_parse(name, &reference, NULL) == 0 &&
                     import_check_name(name, &reference, NULL) == 0;
        if (found)
                reference_write(&reference, ret);
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
        int r = manifest_read(part->text, part->len, NULL, &in->platform, m, err);
        for (int i = 0; r == 0 && m->kind == MANIFEST_LIST; i++) {
                memcpy(digest, m->chosen.digest, sizeof digest);
                if (!names[0] && find_name(index, digest, name))
                        names[0] = name;
                blob_name(digest, blob);
                part = i < NESTED_MAX ? parts_need(in->parts, blob, PART_TEXT, err) : NULL;
                if (i == NESTED_MAX)
                        err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                                "the index of the archive is nested too deeply");
                r = part ? manifest_read(part->text, part->len, NULL, &in->platform, m, err) : -EBADMSG;
        }
        if (r == 0 && part == index)
                r = err_say(err, CELLA_INVALID_REQUEST, -EBADMSG, "index.json is not an index");
        if (r == 0)
                r = import_manifest(in, m, digest, names, err);
        free(m);
        return r;
}
