/* keeper/spawn/making.h -- the state of a sandbox while it is being made. */
#pragma once
#include "jail/spec.h"
#include "keeper/spawn/sandbox.h"
#include "keeper/spawn/subordinate.h"
#include "wire/init.h"

/* Exists only while sandbox_assemble() runs. */
struct making {
        const struct sandbox_parts *parts;
        struct jail_spec spec;
        struct jail_mount mounts[INIT_MOUNTS_MAX]; /* the image first, if there is one */
        char *sources[INIT_MOUNTS_MAX];
        int child_control; /* the child's end of the socket; closed once the child exists */
        int program;       /* the init program */
        int own_program;   /* the same if it must be closed, or -1 */
        bool cloned_into_cgroup;
        struct subordinate ids; /* without privilege and with several users */
        bool testing_users;     /* several users also without an image */
        bool together;          /* all parts are ready and are sent to init in one message */
        uint64_t signals;
};

/* Adds the image and the other mounts to m->mounts.  Called before init is started. */
int making_add_mounts(struct making *m, const struct cella_options *options, struct cella_err *err);

/* Maps the owner of the image's files to the code's uid, once that is known.  Init already has the mount, and
 * waits for INIT_GROUPS before it uses it. */
int making_map_image(const struct making *m, struct cella_err *err);
