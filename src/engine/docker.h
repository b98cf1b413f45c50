/* engine/docker.h -- a sandbox of the engine docker, for a program without a daemon.
 *
 * Starts a cella-docker process, which makes the container.  The result has a control socket to init, as with
 * the native engine, and is used in the same way. */
#pragma once
#include "cella.h"
#include "image/store/store.h"
#include "keeper/spawn/sandbox.h"

/* Makes a sandbox with options->engine.  *ret_image: the configuration of the image.  The caller frees
 * both. */
int docker_sandbox_new(const struct cella_options *options, struct sandbox **ret, struct image **ret_image,
                       struct cella_err *err);

/* Returns "docker" or "podman". */
const char *docker_sandbox_engine(const struct sandbox *sandbox);

/* Returns STATE-docker, the directory of cella-docker.  state NULL: that of image_store_path(). */
int docker_home(const char *state, char *ret, size_t size, struct cella_err *err);

/* Finds the container engine of this machine without making anything. */
struct docker_opened;
int docker_find(struct docker_opened *ret, struct cella_err *err);
