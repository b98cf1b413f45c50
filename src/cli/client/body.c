#include "cli/client/body.h"

#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 512 /* of a chunk's size; trailers are headers */
#define TRAILERS_MAX 32

/* A line without its CRLF. */
static int read_line(struct client_link *c, char line[LINE_MAX_BYTES], struct cella_err *err)
{
        size_t len = 0;
        for (;;) {
                if (c->at == c->fill) {
                        ssize_t n = client_link_receive(c, c->buffer, sizeof c->buffer,
                                                        client_link_patience(c), err);
                        if (n <= 0)
                                return n < 0 ? (int)n : client_link_broken(c, err, "it ends too early");
                        c->at = 0;
                        c->fill = (size_t)n;
                }
                char ch = c->buffer[c->at++];
                if (ch == '\n') {
                        if (len == 0 || line[len - 1] != '\r')
                                return client_link_broken(c, err, "a line that ends wrongly");
                        line[len - 1] = '\0';
                        return 0;
                }
                if (len == LINE_MAX_BYTES - 1)
                        return client_link_broken(c, err, "a line that is too long");
                line[len++] = ch;
        }
}

/* Goes to the next chunk.  1: there is none. */
static int next_chunk(struct client_body *b, struct client_link *c, struct cella_err *err)
{
        char line[LINE_MAX_BYTES] = "";
        int r = 0;
        if (b->chunk_open && ((r = read_line(c, line, err)) < 0 || line[0]))
                return r < 0 ? r : client_link_broken(c, err, "a chunk is longer than it said");
        if ((r = read_line(c, line, err)) < 0)
                return r;
        size_t digits = strspn(line, "0123456789abcdefABCDEF");
        if (digits == 0 || digits > 15 || (line[digits] && line[digits] != ';' && line[digits] != ' '))
                return client_link_broken(c, err, "a chunk without a length");
        b->left = strtoull(line, NULL, 16);
        b->chunk_open = true;
        if (b->left > 0)
                return 0;
        for (int i = 0; i < TRAILERS_MAX; i++) {
                if ((r = read_line(c, line, err)) < 0)
                        return r;
                if (!line[0]) {
                        b->framing = BODY_NONE;
                        return 1;
                }
        }
        return client_link_broken(c, err, "too many trailers");
}

void client_body_begin(struct client_body *b, const struct client_answer *a)
{
        *b = (struct client_body){.framing = a->chunked ? BODY_CHUNKED : BODY_UNTIL_CLOSE};
        if (a->status < 200 || a->status == 204 || a->status == 304) {
                b->framing = BODY_NONE;
        } else if (a->length != CLIENT_UNKNOWN) {
                b->framing = BODY_LENGTH;
                b->left = a->length;
        }
}

ssize_t client_body_read(struct client_body *b, struct client_link *c, char *data, size_t size,
                         struct cella_err *err)
{
        if (b->framing == BODY_CHUNKED && b->left == 0) {
                int r = next_chunk(b, c, err);
                if (r != 0)
                        return r < 0 ? r : 0;
        }
        if (b->framing == BODY_NONE || (b->framing == BODY_LENGTH && b->left == 0))
                return 0;
        if (b->framing != BODY_UNTIL_CLOSE && size > b->left)
                size = (size_t)b->left;
        ssize_t n = (ssize_t)client_link_take(c, data, size);
        if (n == 0)
                n = client_link_receive(c, data, size, client_link_patience(c), err);
        if (n == 0 && b->framing != BODY_UNTIL_CLOSE)
                return client_link_broken(c, err, "it ends too early");
        if (n > 0 && b->framing != BODY_UNTIL_CLOSE)
                b->left -= (uint64_t)n;
        return n;
}
