/* test/fuzz/text.c -- small readers of text: base64, sizes and times.  What base64 takes, it also makes. */
#include "base/base64.h"
#include "base/parse.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        uint64_t value;
        size_t room = size / 4 * 3, encoded_len = BASE64_LEN(size);
        char *text = malloc(size + 1), *decoded = malloc(room + 1), *again = malloc(encoded_len + 1);
        memcpy(text, data, size);
        text[size] = '\0';
        parse_bytes(text, &value);
        parse_milliseconds(text, &value);
        parse_thousandths(text, &value);
        parse_count(text, &value);

        ssize_t n = base64_decode(text, size, decoded, room);
        if (n > (ssize_t)room)
                abort();
        if (n >= 0) {
                base64_encode(decoded, (size_t)n, again);
                if (BASE64_LEN((size_t)n) != size || memcmp(again, text, size) != 0)
                        abort();
        }
        base64_encode(text, size, again);
        char *back = malloc(size + 3);
        if (base64_decode(again, encoded_len, back, size + 3) != (ssize_t)size ||
            memcmp(back, text, size) != 0)
                abort();
        free(back);
        free(again);
        free(decoded);
        free(text);
        return 0;
}
