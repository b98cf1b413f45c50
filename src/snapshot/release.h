/* snapshot/release.h -- the message that releases a waiting interpreter: code, arguments, environment.
 *
 * It is sent over descriptor SNAPSHOT_CONTROL_FD, a stream. The interpreter sends struct release_ready when
 * it waits. Then it receives one release, with descriptors for 0, 1 and 2, and both ends are closed. Another
 * first byte means that it cannot wait: one of enum release_refusal, followed by a text. A process that
 * becomes a template receives a release with the modules to import as its strings, and answers with a
 * template_made and a text.
 *
 * If the code is known before the interpreter starts, that descriptor is a file, read from its beginning:
 * space for a release_ready, which is written there, then the release; 0, 1 and 2 are in place already. */
#pragma once
#include <stdint.h>

#define RELEASE_READY 'R'
#define RELEASE_MAX (96u * 1024) /* fits into the socket buffer, so that sending does not block */

struct release_ready {
        uint64_t ready;  /* RELEASE_READY: the first byte */
        uint64_t cpu_us; /* CPU time of the start, which is not charged to the code */
};

enum release_refusal {
        REFUSAL_ADDRESS = 'A', /* an address was occupied by chance: another attempt may succeed */
        REFUSAL_FAILED = 'F',
};

enum release_mode {
        RELEASE_SCRIPT,  /* runs the code like `python3 main.py` */
        RELEASE_CONTEXT, /* runs the driver of contexts, which keeps the socket; without code */
        RELEASE_SOON,    /* the release comes soon: the program prepares what it can and sends release_ready
                            again.    Without strings and descriptors; a release follows */
        RELEASE_TRIAL,   /* runs the code, then records which pages were touched */
        RELEASE_PLAIN,   /* the same with code that does nothing: records the pages that any code writes to */
};

struct release_head {
        uint32_t length; /* of the rest of the message */
        uint32_t mode;
        uint32_t argc; /* without the names of program and script; for `hold`: all */
        uint32_t envc; /* added to the existing environment; for `hold`: all */
        uint32_t code_length;
        /* Strings follow, each ending in NUL: cwd ("": unchanged), argv, env; then the code */
};

_Static_assert(sizeof(struct release_head) == 20, "python.py packs the same");

struct template_made {
        uint32_t failed;
        uint32_t text_length; /* of the following text: the reason, or the version of the interpreter */
};
