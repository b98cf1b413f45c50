/* image/imager.h -- the interface of cella-image and of its operations.
 *
 * cella-image is the only program that parses archives and manifests and talks to registries.  Descriptors:
 *
 *      3   a SOCK_STREAM socket: JSON lines of at most IMAGER_LINE_MAX bytes, in both directions
 *      4   the store's directory (store.h); owned by the user of cella-image, mode 0700, may be empty
 *
 * Requests:
 *
 *   {"id":1,"op":"pull","ref":"python:3.12-slim","platform":null,"insecure":false,"credentials":{...}|null}
 *   {"id":2,"op":"import","name":"x"|null,"platform":null}
 *          The archive is sent as a descriptor (SCM_RIGHTS) with any byte of the line; the operation owns it.
 *          Optional: "source":"import"|"bootstrap" (`cella image bootstrap`); for an archive of a root
 *          directory, "config":{"Env":[..],"Cmd":[..],"WorkingDir":..,"User":..} as in OCI.
 *   {"id":3,"op":"rm","name":"x"}       a name, an id or the beginning of one; by id, all names are removed
 *   {"id":4,"op":"gc"}                  removes layers and roots that belong to no image
 *   {"id":6,"op":"bound","bytes":N}     sets the maximum size of the store, for all writers; 0: none (room.h)
 *   {"id":5,"op":"cancel","target":1}   the target's own answer reports the cancellation
 *
 * pull and import also accept "limits":{"bytes":N,"entries":N} (unpacked; IMAGER_BYTES, IMAGER_ENTRIES).
 *
 * Events:
 *
 *   {"id":1,"event":"progress","layer":"sha256:..","done":123,"total":456,"phase":"download|unpack"}
 *          total 0: unknown; "layer" is "" while it is unknown
 *   {"id":1,"event":"done","image":{"id":..}}
 *          The image is in the store.  "images":[ids] if an archive had several;
 *          gc: "layers":N,"roots":N,"bytes":N; rm: "removed":true if the image itself was removed
 *   {"id":1,"event":"failed","error":{"kind":..,"message":..,"hint":..}}
 *
 * Each id gets exactly one "done" or "failed".  Ids are integers that are not in use.  At most
 * IMAGER_JOBS_MAX operations run at once; another one fails with over_capacity.  An invalid line ends the
 * process.  So does the end of the socket, after all operations were cancelled. */
#pragma once
#include <errno.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "cella.h"
#include "wire/imager.h"

#define IMAGER_BYTES ((uint64_t)20 << 30) /* unpacked; default of a request */
#define IMAGER_ENTRIES 2000000

struct image;

/* One operation; each has its own thread. */
struct imager_job {
        int store;                       /* the store's directory */
        int archive;                     /* of an import; else -1 */
        const json_t *request;           /* the line, an object */
        uint64_t bytes_max, entries_max; /* maximum of everything that is unpacked */
        _Atomic bool cancelled; /* check it at least every 100 ms, and then fail with job_cancelled() */
        /* May be called from any thread of the job; events that follow too quickly are dropped.  layer:
         * "sha256:..." or "". */
        void (*progress)(struct imager_job *job, const char *layer, const char *phase, uint64_t done,
                         uint64_t total);
};

/* Returns 0, or sets the error (-ECANCELED) if the job was cancelled. */
static inline int job_cancelled(const struct imager_job *job, struct cella_err *err)
{
        return job->cancelled ? err_say(err, CELLA_INVALID_REQUEST, -ECANCELED, "cancelled") : 0;
}

/* The operations.  The caller frees the images that they return. */

/* registry.c: pulls an image from a registry into the store (writer.h). */
int registry_pull(struct imager_job *job, struct image **ret, struct cella_err *err);

/* import.c: imports the archive of the job.  *ret is the last image; if there are several, *ret_ids has all
 * of them. */
#define IMPORT_IMAGES_MAX 16
struct imported {
        struct image *image;
        char ids[IMPORT_IMAGES_MAX][65];
        size_t n;
};
int import(struct imager_job *job, struct imported *ret, struct cella_err *err);

/* remove.c */
struct removed {
        bool image; /* the image, not only a name */
        uint64_t layers, roots, images, bytes;
};
int remove_name(struct imager_job *job, const char *name, struct removed *ret, struct cella_err *err);
/* Removes unused objects: layers and roots of no image, images without a name, downloads.  Waits some seconds
 * for writers: CELLA_OVER_CAPACITY. */
int remove_unused(struct imager_job *job, struct removed *ret, struct cella_err *err);
/* Removes objects that were under construction when a process was killed.  Does nothing while another process
 * writes to the store. */
void remove_leftovers(int store);
