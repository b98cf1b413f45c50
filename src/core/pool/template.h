/* core/pool/template.h -- makes a template (snapshot/template.h): an interpreter as bytes, in a sealed file.
 *
 * In a sandbox of its own, which ends when it is done.  What comes out of it is only ever handed to
 * sandboxes again. */
#pragma once
#include "core/core.h"
#include "core/image/used_image.h"

struct template_maker;

/* fd is the caller's, modules a string to be freed; or fd is -1 and err says why. */
typedef void (*template_made)(void *context, int fd, char *modules, const struct cella_err *err);

/* Calls made() once, from the loop; unless cancelled.  image: whose program it is; NULL: this machine's. */
int template_make(struct core *core, struct used_image *image, const char *program, const json_t *preload,
                  template_made made, void *context, struct template_maker **ret, struct cella_err *err);
void template_cancel(struct template_maker *maker);
