/* test/fuzz/egress_hello.c -- ClientHellos.  What is said of a part of one is final, and how it is cut into
 * records makes no difference. */
#include <errno.h>

#include "egress/hello.h"
#include "fuzz.h"

/* Parses a copy of exact size, so that a sanitizer reports a read past its end. */
static int read_exactly(const uint8_t *data, size_t size, char name[NAME_MAX_BYTES])
{
        uint8_t *copy = malloc(size);
        int r;

        memcpy(copy, data, size);
        memset(name, 0, NAME_MAX_BYTES);
        r = hello_read(copy, size, name);
        free(copy);
        return r;
}

static size_t cut(const uint8_t *message, size_t size, size_t step, uint8_t *to)
{
        size_t length = 0;

        for (size_t at = 0; at < size; at += step) {
                size_t n = size - at < step ? size - at : step;

                memcpy(to + length, (uint8_t[]){22, 3, 1, (uint8_t)(n >> 8), (uint8_t)n}, 5);
                memcpy(to + length + 5, message + at, n);
                length += 5 + n;
        }
        return length;
}

static void check_cuts(const uint8_t *message, size_t size, size_t step)
{
        uint8_t *records = malloc(size * 6 + 6);
        char name[NAME_MAX_BYTES], other[NAME_MAX_BYTES];
        size_t length = cut(message, size, size, records);
        int whole = read_exactly(records, length, name), parts;

        length = cut(message, size, step, records);
        parts = read_exactly(records, length, other);
        /* Data after the message is allowed only in another record. */
        if (whole != -EPROTO && parts != -EPROTO &&
            (whole != parts || memcmp(name, other, sizeof(name)) != 0))
                abort();
        if (whole == 1 && parts != 1)
                abort();
        free(records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char name[NAME_MAX_BYTES], other[NAME_MAX_BYTES];
        int whole;

        if (size > 4096)
                return 0;
        whole = read_exactly(data, size, name);
        if (whole == 1 && name_normalise(name, strlen(name), other) < 0)
                abort();
        for (size_t i = 0; i < size; i += 1 + size / 64) {
                int part = read_exactly(data, i, other);

                if (part != 0 && (part != whole || memcmp(name, other, sizeof(name)) != 0))
                        abort();
        }
        if (size > 6)
                check_cuts(data + 5, size - 5, 1u + data[size - 1] % 64);
        return 0;
}
