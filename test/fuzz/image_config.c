/* test/fuzz/image_config.c -- an image's configuration from anybody, and what the store says about an image:
 * what is accepted can be written down, fits, and is read back as the same.
 *
 * The first byte: which of the two. */
#include "fuzz.h"
#include "image/unpack/config.h"
#include "image/unpack/digest.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void check(const struct image *image)
{
        if (!image->platform || !image->user || image->cwd[0] != '/' ||
            image->n_runtimes > IMAGE_RUNTIMES_MAX || image->uid > 0x7ffffffe || image->gid > 0x7ffffffe ||
            !image->names)
                abort();
        for (const char **p = image->env; *p; p++)
                if (!strchr(*p, '=') || (*p)[0] == '=')
                        abort();
        for (size_t i = 0; i < image->n_runtimes; i++)
                if (image->runtimes[i].value[0] != '/')
                        abort();
}

static bool same_list(const char **a, const char **b)
{
        for (; *a && *b; a++, b++)
                if (strcmp(*a, *b) != 0)
                        return false;
        return !*a && !*b;
}

/* Writes the document and reads it again. */
static void check_again(struct image *image)
{
        struct image *again = NULL;
        size_t len = 0;
        memcpy(image->id, ID, sizeof ID);
        char *text = image_write(image, &len);
        if (!text)
                abort();
        if (len > IMAGE_META_MAX) {
                free(text);
                return;
        }
        if (image_parse(text, len, ID, "/store", &again, NULL) < 0)
                abort();
        check(again);
        if (!same_list(image->env, again->env) || !same_list(image->cmd, again->cmd) ||
            !same_list(image->layers, again->layers) || strcmp(image->cwd, again->cwd) != 0 ||
            strcmp(image->user, again->user) != 0 || image->n_labels != again->n_labels)
                abort();
        image_free(again);
        free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct image *image = NULL;
        struct cella_err err = {0};
        if (size < 1)
                return 0;
        size_t len = size - 1;
        if (data[0] % 2) {
                image = calloc(1, sizeof *image);
                int r = config_read((const char *)data + 1, len, image, &err);
                if (r == 0) {
                        check(image);
                        for (const char **p = image->layers; *p; p++)
                                if (!digest_hex(*p))
                                        abort();
                        check_again(image);
                } else if (!err.msg[0]) {
                        abort();
                }
        } else {
                char *text = malloc(len ? len : 1);
                memcpy(text, data + 1, len);
                int r = image_parse(text, len, ID, "/store", &image, &err);
                free(text);
                if (r == 0) {
                        check(image);
                        check_again(image);
                } else if (!err.msg[0]) {
                        abort();
                }
        }
        image_free(image);
        return 0;
}
