/* image/unpack/import.h -- images from archives: what `docker save` and other tools write, or just a root
 * directory.
 */
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
        const char *name;   /* NULL: as the archive says */
        const char *source; /* for the image's meta */
        struct platform platform;
        struct imported *ret;
        bool only_check; /* everything, before anything is done: an archive is imported as a whole or not at
                            all */
};

/* Refuses what is written as an id or has a digest; reference: the name, read. */
int import_check_name(const char *name, const struct reference *reference, struct cella_err *err);

/* Of manifest.json, which Docker writes: all images of it. */
int import_docker(struct importing *in, const struct part *manifest, struct cella_err *err);
/* Of index.json, which OCI has: the image for the platform. */
int import_oci(struct importing *in, const struct part *index, struct cella_err *err);

/* One image, whose layers are parts of these names, in the order of its configuration. */
int import_image(struct importing *in, const struct part *config, const char *const *layers, size_t n,
                 const char *digest, const char *const *names, struct cella_err *err);
