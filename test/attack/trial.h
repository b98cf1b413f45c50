/* trial.h -- runs one attack once, in a sandbox with the given walls. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "cella.h"
#include "victims.h"

/* The runner is built twice: for the tests, and for `cella doctor --attack`, which only uses
 * what the library offers everybody and so cannot take a wall down. */
#ifdef WALLS_STAY_UP
#define TRIAL_WALLS_STAY_UP true
#define testing_sandbox_new(options, walls_down, ret, err)                                                   \
        ((void)(walls_down), cella_sandbox_new((options), (ret), (err)))
#else
#define TRIAL_WALLS_STAY_UP false
#include "engine/testing.h"
#endif

#define TRIAL_ARGUMENTS 32
#define TRIAL_IDS 65536 /* of a sandbox with several users */

/* A command line of cella-attacks; argv points into text. */
struct trial_command {
        const char *argv[TRIAL_ARGUMENTS];
        char text[TRIAL_ARGUMENTS][192];
        char mark[32]; /* an argument that only the processes of this trial carry */
};

void trial_command_fill(struct trial_command *c, const struct victims *v, const char *attack,
                        uint32_t walls_down, uint64_t limit);

/* Options for it: the program at /attacks, the tray at /tray. */
struct trial_options {
        struct cella_options options;
        struct cella_mount mounts[2];
};

void trial_options_fill(struct trial_options *o, const struct victims *v);

/* Finds walls in cella_isolation.missing. */
uint32_t trial_missing(const struct cella_sandbox *sandbox);

/* The attacks are tried in sandboxes with several users, as those of images that run as root. */
extern bool trial_users;

/* testing_sandbox_new(), with trial_users. */
int trial_sandbox(const struct trial_options *o, uint32_t walls_down, struct cella_sandbox **ret,
                  struct cella_err *err);

struct trial {
        bool ran; /* otherwise err has the reason */
        struct cella_err err;
        enum cella_status status;
        int exit_code; /* an enum attack_outcome, if it exited */
        uint32_t missing;
        char said[4096]; /* stdout */
};

void trial_attack(const struct victims *v, const char *attack, uint32_t walls_down, struct trial *ret);

/* More than one wall stops it.  Never more than one is taken down at a time: then it is shown
 * that each holds without the other, and not that it succeeds without both. */
static inline bool trial_doubly_walled(uint32_t walls)
{
        return (walls & (walls - 1)) != 0;
}

/* The names of walls, "a+b", into a buffer that the next call overwrites. */
const char *trial_wall_names(uint32_t walls);
/* Bits of "a+b"; 0 if a word is none. */
uint32_t trial_walls(const char *names);
/* The last line of what was said, or the one that starts with `prefix` (then without
 * it); NULL if there is none. */
const char *trial_said(const struct trial *t, const char *prefix);
