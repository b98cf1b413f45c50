/* snapshot/release.h -- what a waiting interpreter is told when its code has come.
 *
 * Over descriptor WARM_CONTROL_FD, a stream.  It says struct warm_ready when it waits; then comes one
 * release, with descriptors for 0, 1 and 2, and both ends are closed.  Another first byte
 * is why it cannot wait: one of enum warm_refusal, and a text.  What becomes a template gets a release whose
 * strings are the modules to import, and answers with a warm_made and a text.
 *
 * Where the code is there before its interpreter, that descriptor is a file, read from its beginning: room
 * for a warm_ready, which is written there all the same, and then the release; 0, 1 and 2 are what they are
 * to be. */
#pragma once
#include <stdint.h>

#define WARM_READY 'R'
#define RELEASE_MAX (96u * 1024) /* fits the socket's buffer: sent without waiting */

struct warm_ready {
        uint64_t ready;  /* WARM_READY: the first byte */
        uint64_t cpu_us; /* that it took to get here: not the code's */
};

enum warm_refusal {
        WARM_ADDRESS = 'A', /* an address was taken by chance: another may have more luck */
        WARM_FAILED = 'F',
};

enum release_mode {
        RELEASE_SCRIPT,  /* runs the code, as `python3 main.py` would */
        RELEASE_CONTEXT, /* runs the driver of contexts, which keeps the socket; has no code */
        RELEASE_SOON,    /* nothing yet, but it is next: whatever can be done ahead is, and what has done so
                          * says warm_ready once more.  Has no strings, no descriptors; a release follows */
        RELEASE_TRIAL,   /* runs the code, then notes which pages that touched */
        RELEASE_PLAIN,   /* the same with code that does nothing: which pages any would write to */
};

struct release_head {
        uint32_t length; /* of all that follows */
        uint32_t mode;
        uint32_t argc; /* behind the program's name and the script's; for `hold`: all of them */
        uint32_t envc; /* on top of the environment that it has; for `hold`: all of them */
        uint32_t code_length;
        /* then, each ending in NUL: cwd ("": as it is), argv, env; then the code */
};

_Static_assert(sizeof(struct release_head) == 20, "python.py packs the same");

struct warm_made {
        uint32_t failed;
        uint32_t text_length; /* of what follows: why, or the interpreter's version */
};
