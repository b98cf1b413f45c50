#include "docker/stream.h"

#include <errno.h>
#include <string.h>

/* A head: number of the stream, three zeros, and the length in big-endian order. */
static int take_head(struct stream *s)
{
        const unsigned char *h = s->head;
        s->left = (uint32_t)h[4] << 24 | (uint32_t)h[5] << 16 | (uint32_t)h[6] << 8 | h[7];
        s->wanted = h[0] == 1;
        s->got = 0;
        return h[0] > 3 || h[1] || h[2] || h[3] || s->left > STREAM_PIECE_MAX ? -EPROTO : 0;
}

long stream_take(struct stream *s, char *data, size_t len)
{
        size_t kept = 0, at = 0;
        while (at < len) {
                if (s->left > 0) {
                        size_t n = s->left < len - at ? s->left : len - at;
                        if (s->wanted) {
                                memmove(data + kept, data + at, n);
                                kept += n;
                        }
                        s->left -= (uint32_t)n;
                        at += n;
                        continue;
                }
                s->head[s->got++] = (unsigned char)data[at++];
                if (s->got == sizeof s->head && take_head(s) < 0)
                        return -EPROTO;
        }
        return (long)kept;
}

long stream_answer(const char *text, size_t len, int *ret_status)
{
        static const char begin[] = "HTTP/1.";
        const char *end = memmem(text, len, "\r\n\r\n", 4);
        if (memcmp(text, begin, len < sizeof begin - 1 ? len : sizeof begin - 1) != 0)
                return -EPROTO;
        if (!end)
                return 0;
        if (end - text < 12 || text[8] != ' ')
                return -EPROTO;
        *ret_status = 0;
        for (int i = 9; i < 12; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return -EPROTO;
                *ret_status = *ret_status * 10 + (text[i] - '0');
        }
        return end + 4 - text;
}
