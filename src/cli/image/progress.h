/* cli/image/progress.h -- shows the progress of an image: bars on a terminal, otherwise a line for each step
 * of a layer.
 *
 * The output goes to standard error.  Names of layers are checked before (wire/imager.h). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "wire/imager.h"

#define PROGRESS_LAYERS_MAX 256 /* further layers are not shown */

struct progress_layer {
        char name[IMAGER_LAYER_SIZE];
        enum imager_phase phase;
        uint64_t done, total;
        uint64_t downloaded; /* bytes; used for the rate */
        bool over;
};

struct progress {
        bool draws; /* on a terminal */
        struct progress_layer layers[PROGRESS_LAYERS_MAX];
        unsigned n;
        int64_t drawn_us;                          /* time of the last update */
        unsigned lengths[PROGRESS_LAYERS_MAX + 1]; /* lengths of the lines on the screen */
        unsigned n_lines;
        /* Bytes per second, smoothed. */
        int64_t rate_us;
        uint64_t rate_bytes;
        double rate;
        char step[80]; /* another step in progress; "": none */
};

void progress_init(struct progress *progress);

/* For image_link.on_progress; event NULL: only time has passed. */
void progress_event(void *progress, const struct imager_event *event);

/* Shows a step that is not a layer, "3/9 installing packages". */
void progress_step(struct progress *progress, const char *text);

/* Removes the bars; good: everything was completed. */
void progress_done(struct progress *progress, bool good);

/* Formats a size for users: "12.3M". */
void progress_size(uint64_t bytes, char *ret, size_t size);
