/* image/unpack/config.h -- reads the configuration of an image, which is untrusted. */
#pragma once
#include <stddef.h>

#include "cella.h"
#include "image/store/store.h"

#define CONFIG_MAX ((size_t)1 << 20)

/* Fills in environment, working directory, user (not resolved), entry point, command, labels, platform and
 * layers of *ret, which must be empty and owns the memory: image_free() releases it, also after a failure.
 * Values of a wrong type are refused (-EBADMSG); labels that do not fit are left out. */
int config_read(const char *config, size_t len, struct image *ret, struct cella_err *err);
