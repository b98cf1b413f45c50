/* test/fuzz/mask.c -- secrets in output: cut into chunks of any size it is masked as the reference does it.
 *
 * The first byte is the size of the chunks, the second the number of values; each has its length before it.
 * In the rest a byte above 0xc0 stands for a value in one of its encodings, and others for themselves. */
#include "../secret/encode.h"
#include "../secret/reference.h"
#include "fuzz.h"

#define VALUES 3
#define VALUE_MAX 16
#define TEXT_MAX 240

static size_t compose(const struct mask_value *values, size_t n, const uint8_t *data, size_t size, char *text)
{
        size_t used = 0;
        for (size_t i = 0; i < size && used + ENCODED_MAX(VALUE_MAX) < TEXT_MAX; i++) {
                const struct mask_value *value = &values[data[i] / ENCODINGS % n];
                if (data[i] <= 0xc0) {
                        text[used++] = (char)data[i];
                        continue;
                }
                char part[ENCODED_MAX(VALUE_MAX)] = "";
                encode(data[i] % ENCODINGS, value->text, value->len, part);
                memcpy(text + used, part, strlen(part));
                used += strlen(part);
        }
        return used;
}

static size_t in_chunks(struct mask *mask, const char *text, size_t len, size_t size, char *out)
{
        struct mask_stream *stream = NULL;
        size_t used = 0, n;
        const char *data;
        if (mask_stream_new(mask, &stream, NULL) < 0)
                abort();
        for (size_t at = 0; at < len; at += size) {
                size_t now = len - at < size ? len - at : size;
                char *chunk = malloc(now);
                data = memcpy(chunk, text + at, now);
                n = mask_feed(stream, &data, now);
                if (used + n > at + now)
                        abort(); /* more than was received */
                memcpy(out + used, data, n);
                used += n;
                free(chunk);
        }
        n = mask_flush(stream, &data);
        memcpy(out + used, data, n);
        mask_stream_free(stream);
        return used + n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct mask_value values[VALUES];
        struct mask *mask = NULL;
        char text[TEXT_MAX], out[TEXT_MAX], should[TEXT_MAX];
        size_t n = 0, at = 2, from;
        bool repeats = false;
        if (size < 2)
                return 0;
        for (; n < 1 + data[1] % VALUES; n++) {
                if (at >= size)
                        return 0;
                size_t len = 4 + data[at++] % (VALUE_MAX - 3);
                if (size - at < len || memchr(data + at, 0, len))
                        return 0;
                values[n] = (struct mask_value){(const char *)data + at, len};
                if (mask_trim(values[n].text, len, &from) < MASK_VALUE_MIN)
                        return 0;
                repeats |= reference_repeats(&values[n]);
                at += len;
        }
        if (mask_new(values, n, &mask, NULL) < 0)
                abort();
        size_t len = compose(values, n, data + at, size - at, text);
        size_t out_len = in_chunks(mask, text, len, 1 + data[0], out), should_len;
        if (repeats) {
                memcpy(should, text, len);
                should_len = mask_text(mask, should, len);
        } else {
                should_len = reference_mask(values, n, text, len, should);
        }
        if (out_len != should_len || memcmp(out, should, out_len) != 0)
                abort();
        mask_free(mask);
        return 0;
}
