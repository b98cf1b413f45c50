/* bench/mask.c -- how fast output goes through the mask of secrets (secret/mask.h), by kind of text and
 * number of secrets: megabytes a second, in chunks as the daemon reads them. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "secret/mask.h"

#define CHUNK 65536
#define SIZE (8u << 20)
#define SPAN_US 300000

static char text[SIZE];

/* Of the CPU: the machine may be busy with something else. */
static int64_t spent_us(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static struct mask *make_mask(unsigned n)
{
        static char values[MASK_VALUES_MAX][64];
        struct mask_value list[MASK_VALUES_MAX];
        struct mask *mask = NULL;
        for (unsigned i = 0; i < n; i++) {
                unsigned char random[30];
                randombytes_buf_deterministic(
                        random, sizeof random,
                        (const unsigned char[randombytes_SEEDBYTES]){(unsigned char)i, 1});
                base64_encode((const char *)random, sizeof random, values[i]);
                list[i] = (struct mask_value){values[i], 40};
        }
        if (mask_new(list, n, &mask, NULL) < 0)
                exit(EXIT_FAILURE);
        return mask;
}

static void prose(void)
{
        static const char *const words[] = {
                "the ",      "loss ",    "step ",  "at ",      "epoch=",   "12 ", "0.0471",
                "\n",        "INFO ",    "worker", " started", " in ",     "ms ", "GET /v1/",
                "items?id=", "200 OK\n", "import", " numpy ",  "as np\n\t"};
        unsigned seed = 7;
        for (size_t at = 0; at < SIZE;) {
                const char *word = words[(seed = seed * 1103515245 + 12345) / 65536 % 19];
                for (; *word && at < SIZE; word++)
                        text[at++] = *word;
        }
}

static void digits(void)
{
        for (size_t at = 0; at < SIZE; at++)
                text[at] = "0123456789abcdef"[(at * 2654435761u >> 13) & 15];
}

static void encoded(void)
{
        static char random[SIZE / 4 * 3];
        randombytes_buf(random, sizeof random);
        base64_encode(random, sizeof random, text);
}

static void binary(void)
{
        randombytes_buf(text, sizeof text);
}

static double measure(struct mask *mask)
{
        struct mask_stream *stream = NULL;
        uint64_t bytes = 0, went = 0;
        if (mask_stream_new(mask, &stream, NULL) < 0)
                exit(EXIT_FAILURE);
        int64_t from = spent_us(), now = from;
        while (now < from + SPAN_US) {
                for (size_t at = 0; at < SIZE; at += CHUNK) {
                        const char *data = text + at;
                        went += mask_feed(stream, &data, CHUNK);
                }
                bytes += SIZE;
                now = spent_us();
        }
        mask_stream_free(stream);
        return went > 0 ? (double)bytes / (double)(now - from) : 0;
}

int main(void)
{
        static const struct {
                const char *name;
                void (*fill)(void);
        } texts[] = {{"prose", prose}, {"hex", digits}, {"base64", encoded}, {"binary", binary}};
        static const unsigned counts[] = {1, 4, 16, 64}; /* without any there is no mask */
        printf("secrets        make");
        for (size_t i = 0; i < 4; i++)
                printf("%10s", texts[i].name);
        printf("   (µs, MB/s)\n");
        if (sodium_init() < 0)
                return EXIT_FAILURE;
        for (size_t c = 0; c < 4; c++) {
                int64_t from = spent_us();
                for (int i = 0; i < 20; i++)
                        mask_free(make_mask(counts[c]));
                printf("%7u %11.1f", counts[c], (double)(spent_us() - from) / 20);
                struct mask *mask = make_mask(counts[c]);
                for (size_t i = 0; i < 4; i++) {
                        texts[i].fill();
                        printf("%10.0f", measure(mask));
                }
                printf("\n");
                mask_free(mask);
        }
        return 0;
}
