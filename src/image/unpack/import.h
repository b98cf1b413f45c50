/* image/unpack/import.h -- imports images from archives: of `docker save` and other tools, or of a root
 * directory. */
#pragma once
#include "image/imager.h"
#include "image/registry/manifest.h"
#include "image/store/reference.h"
#include "image/store/writer.h"
#include "image/unpack/archive_parts.h"

struct importing {
        struct imager_job *job;
        struct writer *w;
        struct parts *parts;
        const char *name;   /* NULL: the name in the archive */
        const char *source; /* for the image's meta */
        struct platform platform;
        struct imported *ret;
        bool only_check; /* checks everything first: an archive is imported completely or not at all */
};

/* Refuses names that have the form of an id or contain a digest; reference: the parsed name. */
int import_check_name(const char *name, const struct reference *reference, struct cella_err *err);

/* Imports all images of manifest.json, which Docker writes. */
int import_docker(struct importing *in, const struct part *manifest, struct cella_err *err);
/* Imports the image for the platform from index.json, which OCI defines. */
int import_oci(struct importing *in, const struct part *index, struct cella_err *err);

/* Imports one image; its layers are the parts with these names, in the order of its configuration. */
int import_image(struct importing *in, const struct part *config, const char *const *layers, size_t n,
                 const char *digest, const char *const *names, struct cella_err *err);
