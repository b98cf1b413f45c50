/* front/web/assets.h -- the files of the web page, embedded in the program.  tools/embed_web.sh creates the
 * table. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct web_asset {
        const char *name; /* without a folder: "app.js" */
        const char *type;
        const char *etag;           /* quoted, a hash of the content */
        const char *plain, *packed; /* packed: gzip */
        const uint64_t *plain_len, *packed_len;
};

extern const struct web_asset web_assets[];
extern const size_t web_assets_len;
