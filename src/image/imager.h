/* image/imager.h -- what cella-image's operations get, and what it starts.
 *
 * cella-image is the only program that parses archives and manifests and talks to registries.  Its
 * descriptors:
 *
 *      3   a SOCK_STREAM socket: JSON lines, at most IMAGER_LINE_MAX bytes with the newline, in both
 * directions 4   the store's directory (store.h); it belongs to who runs cella-image, mode 0700, and may be
 * empty
 *
 *   ->
 * {"id":1,"op":"pull","ref":"python:3.12-slim","platform":null,"insecure":false,"credentials":{...}|null}
 *   -> {"id":2,"op":"import","name":"x"|null,"platform":null}  with the archive as a descriptor (SCM_RIGHTS,
 * sent with any byte of the line); the operation owns it
 *      it takes "source":"bootstrap", too, instead of "import" (cella image bootstrap), and for an archive of
 * a root directory alone "config":{"Env":[..],"Cmd":[..],"WorkingDir":..,"User":..}, as OCI has it (D)
 *                                          "source":"import"|"bootstrap" says who made it; of a root
 * directory, "config":{"Env":[..],"Cmd":[..],..} is how it is run
 *   -> {"id":3,"op":"rm","name":"x"}       a name, an id or the beginning of one; by id all names go
 *   -> {"id":4,"op":"gc"}                  removes layers and roots that belong to no image
 *   -> {"id":6,"op":"bound","bytes":N}     what the store may have on the disk from now on, for all who write
 * to it; 0: no bound (room.h)
 *   -> {"id":5,"op":"cancel","target":1}   the target's own answer says that it was cancelled
 *      pull and import take "limits":{"bytes":N,"entries":N}, too (unpacked; see IMAGER_BYTES,
 * IMAGER_ENTRIES)
 *   <- {"id":1,"event":"progress","layer":"sha256:..","done":123,"total":456,"phase":"download|unpack"}
 *                                                              total 0: not known; "layer" is "" before it is
 *   <- {"id":1,"event":"done","image":{"id":..}}               the store has its document; "images":[ids] if
 * an archive had several; gc: "layers":N,"roots":N,"bytes":N; rm: "removed":true if the image itself went,
 * too
 *   <- {"id":1,"event":"failed","error":{"kind":..,"message":..,"hint":..}}
 *
 * Each id gets exactly one "done" or "failed".  Ids are integers, not in use.  At most IMAGER_JOBS_MAX at
 * once; one more is failed as over_capacity.  A line that is no such thing ends the process.  So does the end
 * of the socket, after everything under way was cancelled. */
#pragma once
#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

#include "cella.h"
#include "wire/imager.h"

#define IMAGER_BYTES ((uint64_t)20 << 30) /* unpacked, unless the request says otherwise */
#define IMAGER_ENTRIES 2000000

struct image;

/* One operation; each has a thread of its own. */
struct imager_job {
        int store;                       /* the store's directory */
        int archive;                     /* of an import; else -1 */
        const json_t *request;           /* the line, an object */
        uint64_t bytes_max, entries_max; /* of all that is unpacked */
        _Atomic bool cancelled; /* look at it at least every 100 ms, and then fail with job_cancelled() */
        /* May be called from any thread of the job; drops what comes too often.  layer: "sha256:..." or "".
         */
        void (*progress)(struct imager_job *job, const char *layer, const char *phase, uint64_t done,
                         uint64_t total);
};

/* If it is to end: sets the error (-ECANCELED); else 0. */
int job_cancelled(const struct imager_job *job, struct cella_err *err);

/* The operations.  Images that they return are the caller's to free. */

/* registry.c: gets an image from a registry into the store, by writer.h. */
int registry_pull(struct imager_job *job, struct image **ret, struct cella_err *err);

/* import.c: from the archive of the job.  *ret is the last one; *ret_ids, if there are several, all of them.
 */
#define IMPORT_IMAGES_MAX 16
struct imported {
        struct image *image;
        char ids[IMPORT_IMAGES_MAX][65];
        size_t n;
};
int import(struct imager_job *job, struct imported *ret, struct cella_err *err);

/* remove.c */
struct removed {
        bool image; /* not only a name */
        uint64_t layers, roots, images, bytes;
};
int remove_name(struct imager_job *job, const char *name, struct removed *ret, struct cella_err *err);
/* What nobody uses: layers and roots of no image, images without a name, downloads.  Waits some seconds for
 * who writes: CELLA_OVER_CAPACITY. */
int remove_unused(struct imager_job *job, struct removed *ret, struct cella_err *err);
/* What was under construction when a process was killed; if somebody works on the store, it is left for
 * later. */
void remove_leftovers(int store);
