/* docker/masks.h -- paths that an engine is asked to hide in a container. */
#pragma once
#include <stddef.h>

#define MASK_MAX 96
#define MASKS_MAX 512

struct masks {
        char paths[MASKS_MAX][MASK_MAX];
        size_t n;
};

/* Returns the same list each time; it is never freed. */
const struct masks *masks_all(void);
