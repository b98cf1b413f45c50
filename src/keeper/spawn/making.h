/* keeper/spawn/making.h -- a sandbox that is being made: what only its maker needs. */
#pragma once
#include "jail/spec.h"
#include "keeper/spawn/sandbox.h"
#include "wire/init.h"

/* What sandbox_assemble() holds only while it runs. */
struct making {
        const struct sandbox_parts *parts;
        struct jail_spec spec;
        struct jail_mount mounts[INIT_MOUNTS_MAX]; /* the image's first, if there is one */
        char *sources[INIT_MOUNTS_MAX];
        int child_control; /* the child's end of the socket; closed once the child exists */
        int program;       /* init's */
        int own_program;   /* the same, to be closed */
        bool cloned_into_cgroup;
        bool together; /* all is there already, and goes to init in one message */
        uint64_t signals;
};

/* The image and what else of the host is to be shown: m->mounts, for an init that is not there yet. */
int making_add_mounts(struct making *m, const struct cella_options *options, struct cella_err *err);

/* Makes the image's files the code's own, once it is known who that is.  Init has the mount by then, and
 * waits for INIT_GROUPS before it uses it. */
int making_map_image(const struct making *m, struct cella_err *err);
