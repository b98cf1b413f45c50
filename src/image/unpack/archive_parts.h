/* image/unpack/archive_parts.h -- reads the files of an archive of images in one pass: it may come from a
 * pipe, and the list of layers may come last.  So every file that looks like a layer is unpacked (into the
 * writer's own directory) and identified by its name and digests afterwards; apart from these only small
 * texts are kept. */
#pragma once
#include "base/auto.h"
#include "cella.h"
#include "image/store/writer.h"
#include "image/unpack/stream.h"

enum part_kind { PART_TEXT, PART_LAYER, PART_LINK, PART_BROKEN };

struct part {
        enum part_kind kind;
        char *name;
        char *text; /* possible JSON; the name that a link refers to; the error */
        size_t len;
        char digest[DIGEST_HEX + 1]; /* of the file in the archive; not of links */
        char diff[DIGEST_HEX + 1];   /* of a layer, uncompressed */
};

struct parts {
        struct part *list;
        size_t n, size, bytes;
};

int parts_read(struct imager_job *job, struct writer *w, struct stream *stream, struct parts *ret,
               struct cella_err *err);
void parts_done(struct parts *parts);

DEFINE_AUTO_DONE(struct parts, parts_done)

/* Finds a part by its name; follows links.  NULL: none. */
const struct part *parts_find(const struct parts *parts, const char *name);
/* Returns the part of this kind, or sets an error.  A digest in the name is checked. */
const struct part *parts_need(const struct parts *parts, const char *name, enum part_kind kind,
                              struct cella_err *err);
