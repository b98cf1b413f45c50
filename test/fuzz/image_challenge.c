/* test/fuzz/image_challenge.c -- WWW-Authenticate from any registry: what is refused changes nothing, what is
 * accepted is printable and never worse than what was there. */
#include "fuzz.h"
#include "image/registry/challenge.h"

static void check(const char *text, size_t size)
{
        if (!memchr(text, '\0', size))
                abort();
        for (; *text; text++)
                if (*text < ' ' || *text > '~')
                        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const struct challenge before = {.scheme = CHALLENGE_BASIC, .realm = "before"};
        struct challenge c = before;
        char *text = malloc(size + 1);
        memcpy(text, data, size);
        text[size] = '\0';
        int e = challenge_read(text, &c);
        if (e < 0 && memcmp(&c, &before, sizeof c) != 0)
                abort();
        if (c.scheme < CHALLENGE_BASIC || (c.scheme == CHALLENGE_BEARER && !c.realm[0]))
                abort();
        check(c.realm, sizeof c.realm);
        check(c.service, sizeof c.service);
        free(text);
        return 0;
}
