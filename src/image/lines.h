/* image/lines.h -- JSON lines on a socket, with descriptors. */
#pragma once
#include <stddef.h>

#include "image/imager.h"

#define LINES_FDS_MAX IMAGER_JOBS_MAX

struct lines {
        int fd;
        char text[IMAGER_LINE_MAX];
        size_t len, used; /* used: of the line before */
        int fds[LINES_FDS_MAX];
        unsigned n_fds;
};

void lines_init(struct lines *l, int fd);
void lines_done(struct lines *l);

/* The next line, without its newline, for the caller to change, until the next call.  1; 0: the end; or
 * -errno. */
int lines_next(struct lines *l, char **ret, size_t *ret_len);
/* The earliest descriptor that came and was not taken, or -1. */
int lines_take_fd(struct lines *l);
