/* cli/image/progress.h -- how far an image has come: bars on a terminal, else a line for each step of a
 * layer.
 *
 * On standard error.  Names of layers are checked before they come here (wire/imager.h). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "wire/imager.h"

#define PROGRESS_LAYERS_MAX 256 /* those beyond are not shown */

struct progress_layer {
        char name[IMAGER_LAYER_SIZE];
        enum imager_phase phase;
        uint64_t done, total;
        uint64_t downloaded; /* bytes; what the rate is about */
        bool over;
};

struct progress {
        bool draws; /* on a terminal */
        struct progress_layer layers[PROGRESS_LAYERS_MAX];
        unsigned n;
        int64_t drawn_us;                          /* last */
        unsigned lengths[PROGRESS_LAYERS_MAX + 1]; /* of the lines that stand there */
        unsigned n_lines;
        /* Bytes a second, smoothed. */
        int64_t rate_us;
        uint64_t rate_bytes;
        double rate;
        char step[80]; /* what else is being done; empty: nothing */
};

void progress_init(struct progress *progress);

/* For image_link.on_progress; event NULL: only time has passed. */
void progress_event(void *progress, const struct imager_event *event);

/* A step that is no layer, "3/9 installing packages". */
void progress_step(struct progress *progress, const char *text);

/* Takes the bars away; good: all that was begun is done. */
void progress_done(struct progress *progress, bool good);

/* "12.3M"; for people. */
void progress_size(uint64_t bytes, char *ret, size_t size);
