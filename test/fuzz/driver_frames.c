/* test/fuzz/driver_frames.c -- what hostile code may write to its driver's socket: in pieces of any size it
 * is taken apart the same way, within its bounds, and what is shown of it is JSON in one line.
 *
 * The first byte is the size of the pieces, the second what is due. */
#include "core/context/driver_frames.h"

#include "base/foreign_json.h"
#include "fuzz.h"

static void check_shown(char *text, size_t len)
{
        json_t *value = memchr(text, '\n', len) ? NULL : foreign_json_parse(text, len, 64, 0, NULL);
        if (!value)
                abort();
        json_decref(value);
        free(text);
}

static void look(enum driver_word word, char *body, size_t len)
{
        enum driver_status status;
        char *text = NULL;
        size_t text_len = 0;
        int code = 0;
        switch (word) {
        case DRIVER_RESULT:
                if (driver_read_result(body, len, &text, &text_len) == 0)
                        check_shown(text, text_len);
                break;
        case DRIVER_ERROR:
                if (driver_read_error(body, len, &text, &text_len) == 0)
                        check_shown(text, text_len);
                break;
        case DRIVER_DONE:
                if (driver_read_done(body, len, &status, &code) == 0 && (code < 0 || code > 255))
                        abort();
                break;
        default:
                if (len != 0)
                        abort();
        }
}

/* Returns the number of frames, and a checksum of their contents. */
static unsigned take(const uint8_t *data, size_t size, size_t piece, unsigned may, unsigned *ret_sum)
{
        struct driver_frames frames = {0};
        unsigned n = 0;
        int r = 0;
        *ret_sum = 0;
        for (size_t at = 0; at < size && r >= 0; at += piece) {
                const char *p = (const char *)data + at, *why = NULL;
                size_t len = size - at < piece ? size - at : piece;
                while (len > 0 && (r = driver_frames_take(&frames, may, &p, &len, &why)) > 0) {
                        if (frames.want > DRIVER_RESULT_MAX || !(may & DRIVER_MAY(frames.word)))
                                abort();
                        for (size_t i = 0; i < frames.want; i++)
                                *ret_sum = *ret_sum * 31 + (unsigned char)frames.body[i];
                        look(frames.word, frames.body, frames.want);
                        n++;
                }
                if (r < 0 && !why)
                        abort();
                if (frames.size > frames.want && frames.size > 2 * size + 64 * 1024)
                        abort(); /* more than was received */
        }
        driver_frames_done(&frames);
        return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        unsigned sums[2], may;
        if (size < 2)
                return 0;
        may = data[1] & (DRIVER_MAY(DRIVER_WORDS) - 1);
        if (take(data + 2, size - 2, (size_t)data[0] + 1, may, &sums[0]) !=
                    take(data + 2, size - 2, size, may, &sums[1]) ||
            sums[0] != sums[1])
                abort();
        return 0;
}
