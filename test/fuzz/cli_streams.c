/* test/fuzz/cli_streams.c -- what the client reads besides JSON: events, archives.
 * The first byte chooses which, and in pieces of what size. */
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "cli/client/sse.h"
#include "cli/client/tar.h"
#include "fuzz.h"

static int on_event(void *userdata, const char *name, char *data, size_t len, struct cella_err *err)
{
        (void)userdata, (void)err;
        if (!name[0] || data[len])
                abort();
        memset(data, 'x', len);
        return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
        (void)st, (void)flag;
        return ftw->level > 0 ? remove(path) : 0;
}

/* Unpacks into a directory; nothing may appear beside it. */
static void unpack(char *data, size_t size, size_t piece)
{
        static char outer[] = "/tmp/cella-fuzz-XXXXXX", in[64];
        static int dir = -1;
        struct tar_unpack *u = NULL;
        struct cella_err err;
        struct stat st;
        struct tar_left_out left_out;
        const struct tar_unpack_options limits = {
                .bytes_max = 1 << 20, .entries_max = 1000, .keep_links = piece % 2 == 0};
        if (dir < 0) {
                if (!mkdtemp(outer))
                        abort();
                snprintf(in, sizeof in, "%s/in", outer);
                mkdir(in, 0755);
                dir = open(in, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        }
        /* A fuzzer does not find checksums: every header gets a valid one. */
        for (size_t at = 0; at + TAR_BLOCK <= size; at += TAR_BLOCK) {
                struct tar_header h;
                memcpy(&h, data + at, sizeof h);
                char sum[8];
                snprintf(sum, sizeof sum, "%06o", tar_checksum(&h));
                memcpy(h.checksum, sum, 7);
                if (!memcmp(h.magic, "ustar", 5))
                        memcpy(data + at, &h, sizeof h);
        }
        if (tar_unpack_new(dir, &limits, &u, &err) < 0)
                abort();
        int r = 0;
        for (size_t at = 0; r == 0 && at < size; at += piece)
                r = tar_unpack_feed(u, data + at, size - at < piece ? size - at : piece, &err);
        if (r == 0)
                tar_unpack_end(u, &left_out, &err);
        tar_unpack_free(u);
        if (stat(outer, &st) < 0 || st.st_nlink != 3)
                abort();
        nftw(in, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct sse sse;
        struct cella_err err;
        if (size < 1)
                return 0;
        size_t piece = (size_t)(data[0] >> 2) * 8 + 1;
        int which = data[0] & 3, r = 0;
        size--;
        char *text = malloc(size ? size : 1);
        memcpy(text, data + 1, size);
        if (which >= 2) {
                unpack(text, size, piece);
        } else {
                sse_init(&sse, on_event, NULL);
                for (size_t at = 0; r == 0 && at < size; at += piece) {
                        size_t n = size - at < piece ? size - at : piece;
                        r = sse_feed(&sse, text + at, n, &err);
                }
                sse_done(&sse);
        }
        free(text);
        return 0;
}
