/* docker/volume.h -- the workspace of a sandbox that survives the daemon: a volume of the engine.
 *
 * The engine keeps it, mounts it and removes it, whoever owns the files in it.  A volume has the label
 * cella.home of its cella-docker; one without it is neither used nor removed.  All functions wait for the
 * engine, see api.h. */
#pragma once
#include "docker/container.h"

#define VOLUME_NAME_MAX (KEEPER_NAME_MAX + 8)

/* Writes the engine's name of the volume of this workspace. */
void volume_name(const char *workspace, char ret[VOLUME_NAME_MAX]);

/* Finds the volume or makes it.  Returns 1 if it is new: then only root can write to it. */
int volume_find(const char *socket, const char *workspace, const char *home, struct cella_err *err);

/* Runs a container of this kind that gives all users the right to write to its /workspace. */
int volume_give(const struct container_spec *spec, struct cella_err *err);

/* Removes the volume; succeeds also if there is none. */
int volume_remove(const char *socket, const char *workspace, const char *home, struct cella_err *err);
