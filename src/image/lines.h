/* image/lines.h -- JSON lines on a socket, with descriptors. */
#pragma once
#include <stddef.h>

#include "image/imager.h"

#define LINES_FDS_MAX IMAGER_JOBS_MAX

struct lines {
        int fd;
        char text[IMAGER_LINE_MAX];
        size_t len, used; /* used: length of the previous line */
        int fds[LINES_FDS_MAX];
        unsigned n_fds;
};

void lines_init(struct lines *l, int fd);
void lines_done(struct lines *l);

/* Reads the next line, without its newline; the caller may change it, and it is valid until the next call.
 * Returns 1; 0 at the end; or -errno. */
int lines_next(struct lines *l, char **ret, size_t *ret_len);
/* Returns the first received descriptor that was not taken, or -1. */
int lines_take_fd(struct lines *l);
