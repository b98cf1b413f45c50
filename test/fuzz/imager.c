/* test/fuzz/imager.c -- whatever cella-image says: what is taken holds together and is safe to show, and what
 * is refused changes nothing. */
#include "wire/imager.h"
#include "base/utf8.h"
#include "fuzz.h"

static void must(int condition)
{
        if (!condition)
                abort();
}

/* Checks that the text is valid UTF-8 without control characters. */
static void check_text(const char *text, size_t size)
{
        size_t left = strnlen(text, size);
        must(left < size);
        while (left > 0) {
                size_t n = utf8_len(text, left);
                must(n > 0);
                uint32_t c = utf8_get(text, n);
                must(c >= ' ' && (c < 0x7f || c >= 0xa0));
                text += n;
                left -= n;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct imager_event before, e;
        if (size == 0 || size > IMAGER_LINE_MAX)
                return 0;
        char *line = malloc(size); /* of exact size, so that a read past its end is reported */
        if (!line)
                return 0;
        memcpy(line, data, size);
        memset(&before, 0x5a, sizeof before);
        e = before;
        int r = imager_event_parse(line, size, &e);
        free(line);
        if (r < 0) {
                must(memcmp(&e, &before, sizeof e) == 0);
                return 0;
        }
        must(e.id > 0 && e.type <= IMAGER_FAILED && e.phase <= IMAGER_UNPACK &&
             e.n_images <= IMAGER_IMAGES_MAX);
        for (unsigned i = 0; i < e.n_images; i++)
                must(strspn(e.images[i], "0123456789abcdef") == IMAGER_ID_SIZE - 1 &&
                     e.images[i][IMAGER_ID_SIZE - 1] == '\0');
        check_text(e.layer, sizeof e.layer);
        check_text(e.err.msg, sizeof e.err.msg);
        check_text(e.err.hint, sizeof e.err.hint);
        must((e.type == IMAGER_FAILED) == (e.err.kind != CELLA_OK));
        must(e.err.kind != CELLA_UNAUTHORIZED);
        return 0;
}
