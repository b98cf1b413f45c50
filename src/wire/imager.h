/* wire/imager.h -- the protocol between cella-image and the process that started it: `cella image` or the
 * server.
 *
 * A stream socket (descriptor IMAGER_FD of cella-image) and the directory of the store (IMAGER_STORE_FD).
 * One JSON object per line, of at most IMAGER_LINE_MAX bytes including the newline.  image/imager.h
 * describes requests and replies.  At most IMAGER_JOBS_MAX requests may be active.
 *
 * cella-image parses untrusted archives.  Its messages are validated here and not trusted: an invalid line
 * closes the connection, and information about images is read from the store. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cella.h"

#define IMAGER_FD 3
#define IMAGER_STORE_FD 4
#define IMAGER_LINE_MAX 65536
#define IMAGER_JOBS_MAX 8
#define IMAGER_IMAGES_MAX 16 /* reported per archive */
#define IMAGER_ID_SIZE 65    /* image id: 64 hexadecimal digits and the NUL */
#define IMAGER_LAYER_SIZE 72 /* "sha256:" and 64 hexadecimal digits, or a name of the layer that is read */

enum imager_event_type { IMAGER_PROGRESS, IMAGER_DONE, IMAGER_FAILED };
enum imager_phase { IMAGER_DOWNLOAD, IMAGER_UNPACK };

struct imager_event {
        uint64_t id;
        enum imager_event_type type;
        /* IMAGER_PROGRESS: */
        enum imager_phase phase;
        char layer[IMAGER_LAYER_SIZE]; /* printable characters only; may be empty */
        uint64_t done, total;          /* total 0: unknown */
        /* IMAGER_DONE of pull and import: */
        char images[IMAGER_IMAGES_MAX][IMAGER_ID_SIZE]; /* an archive can contain several */
        unsigned n_images;
        /* IMAGER_DONE of gc: the numbers removed.  Of rm: removed is true if the image itself was removed,
         * not only a name. */
        uint64_t gone, layers, roots, bytes; /* gone: number of images */
        bool removed;
        struct cella_err err; /* IMAGER_FAILED */
};

const char *imager_phase_name(enum imager_phase phase);

/* Parses a line.  Returns 0, or -EPROTO if the line is not part of the protocol. */
int imager_event_parse(const char *line, size_t len, struct imager_event *ret);

/* ---- requests: *ret is a line including the newline; the caller frees it ---- */
struct imager_pull {
        const char *ref, *platform; /* platform may be NULL */
        bool insecure;
        const char *credentials; /* a JSON object, see image/registry/credentials.h; NULL: none */
};
struct imager_import {
        const char *name; /* NULL: use the name in the archive */
        const char *source;
        const char *config; /* a JSON object; NULL: none */
};
int imager_write_pull(uint64_t id, const struct imager_pull *pull, char **ret, size_t *ret_len);
int imager_write_import(uint64_t id, const struct imager_import *import, char **ret, size_t *ret_len);
int imager_write_remove(uint64_t id, const char *name, char **ret, size_t *ret_len);
int imager_write_gc(uint64_t id, char **ret, size_t *ret_len);
int imager_write_bound(uint64_t id, uint64_t bytes, char **ret, size_t *ret_len);
int imager_write_cancel(uint64_t id, uint64_t target, char **ret, size_t *ret_len);

/* Sends the whole line without blocking, with the descriptor fd (-1: none), which stays open in the caller.
 * Returns 0 or -errno.  -EAGAIN: the socket's buffer is larger than the messages of all jobs, so the peer
 * does not read and the connection is useless. */
int imager_send(int socket, const char *line, size_t len, int fd);

/* Assembles lines. */
struct imager_reader {
        size_t start, end;
        char data[IMAGER_LINE_MAX];
};
/* Reads without blocking.  Returns 1 with a line (without its newline, modifiable, valid until the next
 * call), 0 if the peer has closed the connection, -EAGAIN, -EPROTO for a line that is too long, or -errno.
 * Received descriptors are closed. */
int imager_read(struct imager_reader *reader, int socket, char **ret, size_t *ret_len);
/* Returns true if imager_read() would return a line without reading from the socket. */
bool imager_has_line(const struct imager_reader *reader);
