/* front/tools/brief.h -- shortens a result for a model, which pays for each word and reads only so many.
 *
 * Applies to MCP, not to POST /v1/tools.  The log has more of the output: 64 KiB of each stream. */
#pragma once
#include "engine/result.h"
#include "front/tools/tools.h"

#define BRIEF_MIN 1000 /* bytes; nothing is made shorter than this */

/* A copy of a result with its long parts cut. */
struct brief {
        struct cella_result result; /* borrows all but what is in `owned` */
        struct result_run run;
        bool logged;
        size_t max, room; /* bytes of output; bytes that are left for values */
        char *owned[2];   /* output that was cut */
        char *error;
        char **values; /* JSON */
        const char **texts;
        size_t *lens;
};

/* Fills *ret.  max: bytes of stdout and stderr together, and of all values together; each list may
 * have a quarter of that.  logged: the log keeps output, so that the text can refer to it.  run may be NULL.
 * Pictures are moved to ret_images; forms of a value that a model cannot use are left out if there is another
 * form; a traceback that is also in stderr is left out.  On failure *ret has nothing to free.  *run and *r
 * must exist until brief_done(). */
int brief_make(const struct cella_result *r, const struct result_run *run, bool logged, size_t max,
               struct tool_result *ret_images, struct brief *ret);
void brief_done(struct brief *brief);

/* Returns a smaller max, for another try after a result of len bytes with this one; 0: the result has at most
 * `most` bytes, or cannot be shorter. */
size_t brief_less(size_t max, size_t len, size_t most);

/* Returns text with its middle replaced by a line that says how much is missing and where it is, as new
 * memory; NULL: no memory. */
char *brief_cut(const char *text, size_t len, size_t max, const char *where, size_t *ret_len);
