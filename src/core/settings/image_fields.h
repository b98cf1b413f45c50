/* core/settings/image_fields.h -- the object `images` of the settings, and names of images in requests. */
#pragma once
#include "schema/schema.h"

#define IMAGES_ANY_REGISTRY "*"

const struct field *images_settings_fields(void);

/* A check for fields with the name of an image. */
int image_name_check(const json_t *value, const char *path, struct cella_err *err);
