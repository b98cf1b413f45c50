/* wall_names.h -- the walls of jail/walls.h as words, bit 0 first. */
#pragma once

static const char *const wall_names[] = {
        "user",    "pid",      "mount",        "net",    "ipc",     "uts",  "cgroup",
        "seccomp", "landlock", "no_new_privs", "rlimit", "hygiene", "proc",
};

#define N_WALLS (sizeof wall_names / sizeof *wall_names)
