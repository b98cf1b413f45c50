/* docker/image.h -- the engine's images. */
#pragma once
#include "docker/reply.h"

/* Looks one up by its reference; one that is missing is pulled if it may be.  Free it. */
int docker_image_find(const char *socket, const char *reference, bool pull, struct reply_image *ret,
                      struct cella_err *err);
