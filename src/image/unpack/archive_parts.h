/* image/unpack/archive_parts.h -- what an archive of images has in it, read in one pass: it may come from a
 * pipe, and what says which files are layers may come last.  So every file that looks like one is unpacked
 * (into the writer's own directory) and known by its name and digests afterwards; nothing else is kept but
 * small texts.
 */
#pragma once
#include "cella.h"
#include "image/store/writer.h"
#include "image/unpack/stream.h"

enum part_kind { PART_TEXT, PART_LAYER, PART_LINK, PART_BROKEN };

struct part {
        enum part_kind kind;
        char *name;
        char *text; /* JSON, perhaps; the name that a link leads to; why it is broken */
        size_t len;
        char digest[DIGEST_HEX + 1]; /* as it is in the archive; not of links */
        char diff[DIGEST_HEX + 1];   /* of a layer, uncompressed */
};

struct parts {
        struct part *list;
        size_t n, size, bytes;
};

int parts_read(struct imager_job *job, struct writer *w, struct stream *stream, struct parts *ret,
               struct cella_err *err);
void parts_done(struct parts *parts);

static inline void parts_done_auto(struct parts *parts)
{
        parts_done(parts);
}

/* By its name; links are followed.  NULL. */
const struct part *parts_find(const struct parts *parts, const char *name);
/* One of a kind, or an error that says what is wrong with it.  What a name says of a digest is checked. */
const struct part *parts_need(const struct parts *parts, const char *name, enum part_kind kind,
                              struct cella_err *err);
