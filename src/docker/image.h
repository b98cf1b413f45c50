/* docker/image.h -- images of the engine. */
#pragma once
#include "docker/reply.h"

/* Finds an image by its reference; pulls a missing one if `pull` is set.  Release *ret with
 * reply_image_done(). */
int docker_image_find(const char *socket, const char *reference, bool pull, struct reply_image *ret,
                      struct cella_err *err);
