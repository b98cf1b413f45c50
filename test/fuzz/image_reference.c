/* test/fuzz/image_reference.c -- names of images, and docker's configuration: what is accepted leads nowhere
 * else, and means the same when it is written out. */
#include "fuzz.h"
#include "image/registry/credentials.h"
#include "image/store/reference.h"

static void check(const struct reference *r)
{
        struct reference again;
        struct cella_err err;
        char text[REFERENCE_SIZE], twice[REFERENCE_SIZE];
        reference_write(r, text);
        if (strstr(text, "/.") || strstr(text, "//") || strpbrk(text, " ?#%\\\n\r\t") || !r->registry[0] ||
            !r->repository[0] || (!r->tag[0] && !r->digest[0]))
                abort();
        if (reference_parse(text, &again, &err) < 0)
                abort();
        reference_write(&again, twice);
        if (strcmp(text, twice) != 0)
                abort();
        (void)reference_host_is_loopback(reference_host(r));
}

/* A text that becomes part of a header contains no line break. */
static void check_credentials(const struct credentials *c)
{
        const char *const texts[] = {c->username, c->password, c->identitytoken, c->helper};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
                if (strpbrk(texts[i], "\r\n"))
                        abort();
        if (!c->username[0] && !c->identitytoken[0] && !c->helper[0])
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct reference reference;
        struct credentials credentials = {0};
        struct cella_err err = {0};
        char *text = malloc(size + 1);
        memcpy(text, data, size);
        text[size] = '\0';
        if (reference_parse(text, &reference, &err) == 0)
                check(&reference);
        else if (!err.msg[0])
                abort();
        if (credentials_parse(text, size, "q.io", &credentials, &err) > 0)
                check_credentials(&credentials);
        free(text);
        return 0;
}
