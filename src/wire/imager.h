/* wire/imager.h -- lines between cella-image and whoever started it: `cella image`, or the server.
 *
 * A stream socket, descriptor IMAGER_FD of cella-image, and the store's directory, IMAGER_STORE_FD.  JSON,
 * one object a line, of at most IMAGER_LINE_MAX bytes with its newline.  image/imager.h has the requests and
 * the answers; of requests, IMAGER_JOBS_MAX may be under way.
 *
 * cella-image reads archives that strangers made.  What it says is checked here and believed nowhere: a line
 * that is none of these ends the connection, and who wants to know of an image reads the store. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cella.h"

#define IMAGER_FD 3
#define IMAGER_STORE_FD 4
#define IMAGER_LINE_MAX 65536
#define IMAGER_JOBS_MAX 8
#define IMAGER_IMAGES_MAX 16 /* told of one archive */
#define IMAGER_ID_SIZE 65    /* of an image: 64 hex digits and the NUL */
#define IMAGER_LAYER_SIZE 72 /* "sha256:" and 64 hex digits, or a name of what is being read */

enum imager_event_type { IMAGER_PROGRESS, IMAGER_DONE, IMAGER_FAILED };
enum imager_phase { IMAGER_DOWNLOAD, IMAGER_UNPACK };

struct imager_event {
        uint64_t id;
        enum imager_event_type type;
        /* Of progress: */
        enum imager_phase phase;
        char layer[IMAGER_LAYER_SIZE]; /* harmless characters only; may be empty */
        uint64_t done, total;          /* total 0: not known */
        /* Of the end, of pull and import: */
        char images[IMAGER_IMAGES_MAX][IMAGER_ID_SIZE]; /* an archive may have had several */
        unsigned n_images;
        /* Of gc: what is gone; of rm, whether the image itself is, and not only a name of it. */
        uint64_t gone, layers, roots, bytes; /* gone: images */
        bool removed;
        struct cella_err err; /* of IMAGER_FAILED */
};

const char *imager_phase_name(enum imager_phase phase);

/* The line is changed.  -EPROTO: it is none of the protocol. */
int imager_event_parse(char *line, size_t len, struct imager_event *ret);

/* ---- requests: a line with its newline, for the caller to free() ---- */
struct imager_pull {
        const char *ref, *platform; /* platform may be NULL */
        bool insecure;
        const char *credentials; /* a JSON object, see image/registry/credentials.h; NULL: none */
};
struct imager_import {
        const char *name; /* NULL: what the archive says */
        const char *source;
        const char *config; /* a JSON object; NULL: none */
};
int imager_write_pull(uint64_t id, const struct imager_pull *pull, char **ret, size_t *ret_len);
int imager_write_import(uint64_t id, const struct imager_import *import, char **ret, size_t *ret_len);
int imager_write_remove(uint64_t id, const char *name, char **ret, size_t *ret_len);
int imager_write_gc(uint64_t id, char **ret, size_t *ret_len);
int imager_write_bound(uint64_t id, uint64_t bytes, char **ret, size_t *ret_len);
int imager_write_cancel(uint64_t id, uint64_t target, char **ret, size_t *ret_len);

/* Sends all of it, without waiting; fd (-1: none) comes with it and stays the caller's.  What does not fit is
 * -EAGAIN: a socket takes more than all jobs say, so it is not being read, and of no more use. */
int imager_send(int socket, const char *line, size_t len, int fd);

/* Puts lines together. */
struct imager_reader {
        size_t start, end;
        char data[IMAGER_LINE_MAX];
};
/* Without waiting.  1 with a line (without its newline, changeable, until the next call), 0 when the other
 * end has closed, -EAGAIN, -EPROTO for a line that is too long, or -errno.  Descriptors that come are
 * dropped. */
int imager_read(struct imager_reader *reader, int socket, char **ret, size_t *ret_len);
/* There is one without reading further. */
bool imager_has_line(const struct imager_reader *reader);
