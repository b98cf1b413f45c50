/* engine/docker.h -- a sandbox of the engine docker, for a program that has no daemon.
 *
 * It starts a cella-docker of its own for it, which makes the container; from then on there is a control
 * socket to init, as with the native engine, and everything above uses that. */
#pragma once
#include "cella.h"
#include "image/store/store.h"
#include "keeper/spawn/sandbox.h"

/* What options->engine names.  *ret_image: what the image says about running it. */
int docker_sandbox_new(const struct cella_options *options, struct sandbox **ret, struct image **ret_image,
                       struct cella_err *err);

/* "docker" or "podman". */
const char *docker_sandbox_engine(const struct sandbox *sandbox);

/* STATE-docker, where cella-docker keeps its things; state NULL: that of image_store_path(). */
int docker_home(const char *state, char *ret, size_t size, struct cella_err *err);

/* What engine there is, without making anything: for who looks at this machine. */
struct docker_opened;
int docker_find(struct docker_opened *ret, struct cella_err *err);
