/* image/unpack/config.h -- an image's own configuration, which is hostile, as what we keep of it. */
#pragma once
#include <stddef.h>

#include "cella.h"
#include "image/store/store.h"

#define CONFIG_MAX ((size_t)1 << 20)

/* Environment, working directory, user (not resolved), what to run, labels, platform, layers: into *ret,
 * which is empty, and freed with image_free().  What is of a wrong type is refused; labels that do not fit
 * are left out. */
int config_read(const char *config, size_t len, struct image *ret, struct cella_err *err);
