/* image/unpack/digest.c -- see digest.h.
 *
 * Uses OpenSSL, which uses the processor's SHA instructions: it is seven times as fast as libsodium, and all
 * unpacked data is hashed once or twice. */
#include "image/unpack/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "image/store/reference.h"

struct digest {
        EVP_MD_CTX *context;
};

struct digest *digest_free(struct digest *d)
{
        if (d)
                EVP_MD_CTX_free(d->context);
        free(d);
        return NULL;
}

struct digest *digest_new(void)
{
        AUTO(digest_free) struct digest *d = calloc(1, sizeof *d);
        if (!d || !(d->context = EVP_MD_CTX_new()) || EVP_DigestInit_ex(d->context, EVP_sha256(), NULL) != 1)
                return NULL;
        return TAKE(d);
}

/* After an error the result is a digest that matches no data. */
void digest_add(struct digest *d, const void *data, size_t len)
{
        if (d->context && EVP_DigestUpdate(d->context, data, len) != 1) {
                EVP_MD_CTX_free(d->context);
                d->context = NULL;
        }
}

void digest_end(struct digest *d, char ret[DIGEST_HEX + 1])
{
        static const char digits[] = "0123456789abcdef";
        unsigned char bytes[EVP_MAX_MD_SIZE];
        unsigned len = 0;
        if (!d->context || EVP_DigestFinal_ex(d->context, bytes, &len) != 1 || len != DIGEST_HEX / 2) {
                memset(ret, '?', DIGEST_HEX);
                ret[DIGEST_HEX] = '\0';
                return;
        }
        for (size_t i = 0; i < DIGEST_HEX / 2; i++) {
                ret[2 * i] = digits[bytes[i] >> 4];
                ret[2 * i + 1] = digits[bytes[i] & 15];
        }
        ret[DIGEST_HEX] = '\0';
}

int digest_of(const void *data, size_t len, char ret[DIGEST_HEX + 1])
{
        AUTO(digest_free) struct digest *d = digest_new();
        if (!d)
                return -ENOMEM;
        digest_add(d, data, len);
        digest_end(d, ret);
        return 0;
}

const char *digest_hex(const char *text)
{
        if (digest_is_valid(text))
                return text + strlen("sha256:");
        return strspn(text, "0123456789abcdef") == DIGEST_HEX && text[DIGEST_HEX] == '\0' ? text : NULL;
}
