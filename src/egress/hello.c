/* egress/hello.c -- see hello.h.
 *
 * First, the records are scanned, which is cheap and repeated whenever more bytes arrive.  Only when the
 * message is complete, it is reassembled and parsed.  Anything that a server would have to refuse is an
 * error here: a message that two servers could parse differently has no valid name. */
#include "egress/hello.h"

#include <errno.h>
#include <string.h>

#define RECORD_HEADER 5u
#define RECORD_MAX 16384u
#define MESSAGE_HEADER 4u

enum { RECORD_HANDSHAKE = 22, MESSAGE_CLIENT_HELLO = 1, EXTENSION_SERVER_NAME = 0, NAME_HOST = 0 };

struct reader {
        const uint8_t *at;
        size_t left;
};

static int hello_take(struct reader *r, size_t n, const uint8_t **ret)
{
        if (n > r->left)
                return -EPROTO;
        *ret = r->at;
        r->at += n;
        r->left -= n;
        return 0;
}

/* Reads a big-endian number of n bytes. */
static int take_number(struct reader *r, size_t n, size_t *ret)
{
        const uint8_t *bytes;
        size_t value = 0;

        if (hello_take(r, n, &bytes) < 0)
                return -EPROTO;
        for (size_t i = 0; i < n; i++)
                value = value << 8 | bytes[i];
        *ret = value;
        return 0;
}

/* Reads a vector with a length prefix of n bytes. */
static int take_vector(struct reader *r, size_t n, struct reader *ret)
{
        const uint8_t *bytes;
        size_t length;

        if (take_number(r, n, &length) < 0 || hello_take(r, length, &bytes) < 0)
                return -EPROTO;
        *ret = (struct reader){bytes, length};
        return 0;
}

static int read_server_name(struct reader extension, char ret_name[NAME_MAX_BYTES])
{
        struct reader list, name;
        size_t type;

        if (extension.left == 0)
                return -EINVAL;
        if (take_vector(&extension, 2, &list) < 0 || extension.left > 0)
                return -EPROTO;
        /* The length of other types is unknown. */
        if (list.left == 0 || take_number(&list, 1, &type) < 0 || type != NAME_HOST)
                return -EINVAL;
        if (take_vector(&list, 2, &name) < 0)
                return -EPROTO;
        if (list.left > 0)
                return -EINVAL;
        return name_normalise((const char *)name.at, name.left, ret_name);
}

static int read_extensions(struct reader all, char ret_name[NAME_MAX_BYTES])
{
        struct reader server_name = {0};
        int found = 0;

        while (all.left > 0) {
                struct reader extension;
                size_t type;

                if (take_number(&all, 2, &type) < 0 || take_vector(&all, 2, &extension) < 0)
                        return -EPROTO;
                if (type == EXTENSION_SERVER_NAME) {
                        server_name = extension;
                        found++;
                }
        }
        if (found == 0)
                return -ENOENT;
        return found == 1 ? read_server_name(server_name, ret_name) : -EINVAL;
}

/* Parses the message without its header. */
static int read_message(struct reader r, char ret_name[NAME_MAX_BYTES])
{
        const uint8_t *fixed;
        struct reader session, ciphers, compressions, extensions;

        if (hello_take(&r, 2 + 32, &fixed) < 0 || fixed[0] != 3) /* version, random */
                return -EPROTO;
        if (take_vector(&r, 1, &session) < 0 || session.left > 32)
                return -EPROTO;
        if (take_vector(&r, 2, &ciphers) < 0 || ciphers.left < 2 || ciphers.left % 2 != 0)
                return -EPROTO;
        if (take_vector(&r, 1, &compressions) < 0 || compressions.left < 1)
                return -EPROTO;
        if (r.left == 0)
                return -ENOENT; /* an old client without extensions */
        if (take_vector(&r, 2, &extensions) < 0 || r.left > 0)
                return -EPROTO;
        return read_extensions(extensions, ret_name);
}

struct hello {
        uint8_t header[MESSAGE_HEADER];
        size_t have;  /* bytes of the message received */
        size_t whole; /* its length with its header, if known */
};

/* Adds the data of a record. */
static int hello_add(struct hello *h, const uint8_t *part, size_t length, uint8_t *message)
{
        if (message != NULL)
                memcpy(message + h->have, part, length);
        for (size_t i = 0; i < length && h->have + i < MESSAGE_HEADER; i++)
                h->header[h->have + i] = part[i];
        h->have += length;
        if (h->have > 0 && h->header[0] != MESSAGE_CLIENT_HELLO)
                return -EPROTO;
        if (h->have < MESSAGE_HEADER)
                return 0;
        h->whole = MESSAGE_HEADER + ((size_t)h->header[1] << 16 | (size_t)h->header[2] << 8 | h->header[3]);
        return h->whole > HELLO_MAX ? -EMSGSIZE : 0;
}

/* Scans the records and, if message is not NULL, copies the data to it.  Returns 1 if the message is
 * complete. */
static int hello_walk(const uint8_t *data, size_t length, struct hello *h, uint8_t *message)
{
        size_t at = 0;

        while (at < length) {
                const uint8_t *record = data + at;
                size_t left = length - at, size, part;
                int r;

                if (record[0] != RECORD_HANDSHAKE || (left > 1 && record[1] != 3) ||
                    (left > 2 && record[2] > 4))
                        return -EPROTO;
                if (left < RECORD_HEADER)
                        return 0;
                size = (size_t)record[3] << 8 | record[4];
                if (size == 0 || size > RECORD_MAX)
                        return -EPROTO;
                part = left - RECORD_HEADER < size ? left - RECORD_HEADER : size;
                r = hello_add(h, record + RECORD_HEADER, part, message);
                if (r < 0)
                        return r;
                /* A ClientHello must be alone in its record. */
                if (h->have >= MESSAGE_HEADER && h->have - part + size > h->whole)
                        return -EPROTO;
                if (h->have >= MESSAGE_HEADER && h->have == h->whole)
                        return 1;
                at += RECORD_HEADER + part;
        }
        return 0;
}

int hello_read(const uint8_t *data, size_t length, char ret_name[NAME_MAX_BYTES])
{
        uint8_t message[HELLO_MAX];
        struct hello h = {0};
        int r;

        if (length > HELLO_MAX)
                length = HELLO_MAX;
        r = hello_walk(data, length, &h, NULL);
        if (r == 0 && length == HELLO_MAX)
                return -EMSGSIZE;
        if (r <= 0)
                return r;
        h = (struct hello){0};
        hello_walk(data, length, &h, message);
        r = read_message((struct reader){message + MESSAGE_HEADER, h.whole - MESSAGE_HEADER}, ret_name);
        return r < 0 ? r : 1;
}
