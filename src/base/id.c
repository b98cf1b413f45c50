#include "base/id.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

int id_make(const char *prefix, char ret[ID_SIZE])
{
        static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
        unsigned char random[ID_RANDOM_CHARS];
        char text[ID_RANDOM_CHARS + 1];
        /* Once the kernel's pool is initialised, getrandom() returns up to 256 bytes completely and
         * uninterrupted. */
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
                return -EIO;
        for (size_t i = 0; i < ID_RANDOM_CHARS; i++)
                text[i] = alphabet[random[i] & 31];
        text[ID_RANDOM_CHARS] = '\0';
        snprintf(ret, ID_SIZE, "%.10s%s", prefix, text);
        return 0;
}

bool id_is(const char *text, const char *prefix)
{
        const size_t len = strlen(prefix);
        return !strncmp(text, prefix, len) && text[len] && strlen(text) < ID_SIZE &&
               !text[len + strspn(text + len, "abcdefghijklmnopqrstuvwxyz0123456789")];
}
