/* core/pool/template.h -- makes a template (snapshot/template.h): an interpreter as bytes in a sealed file.
 *
 * It is made in a sandbox of its own, which ends afterwards.  The result is only ever passed to sandboxes. */
#pragma once
#include "core/core.h"
#include "core/image/used_image.h"

struct template_maker;

/* The callee owns fd and frees modules; or fd is -1 and err is set. */
typedef void (*template_made)(void *context, int fd, char *modules, const struct cella_err *err);

/* Starts to make a template.  Calls made() once from the loop, unless cancelled.  image: contains the
 * program; NULL: this machine. */
int template_make(struct core *core, struct used_image *image, const char *program, const json_t *preload,
                  template_made made, void *context, struct template_maker **ret, struct cella_err *err);
void template_cancel(struct template_maker *maker);
