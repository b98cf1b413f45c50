/* test/fuzz/image_manifest.c -- manifests, lists and configurations from any registry: what is accepted is
 * within bounds, and can be part of an address and of the name of a file.
 *
 * The first byte: what the registry calls it. */
#include "fuzz.h"
#include "image/registry/manifest.h"

static void check(const struct descriptor *d, uint64_t max)
{
        if (!digest_is_valid(d->digest) || d->size > max)
                abort();
}

static void check_manifest(const struct manifest *m)
{
        uint64_t bytes = 0;
        if (m->kind == MANIFEST_LIST) {
                check(&m->chosen, MANIFEST_MAX);
                return;
        }
        check(&m->config, MANIFEST_CONFIG_MAX);
        if (m->n_layers == 0 || m->n_layers > MANIFEST_LAYERS_MAX)
                abort();
        for (unsigned i = 0; i < m->n_layers; i++) {
                check(&m->layers[i], MANIFEST_LAYER_MAX);
                bytes += m->layers[i].size;
        }
        if (bytes != m->bytes || bytes > MANIFEST_TOTAL_MAX)
                abort();
}

static void check_platform(const struct platform *p)
{
        struct platform again;
        struct cella_err err;
        char text[MANIFEST_PLATFORM_SIZE];
        platform_write(p, text);
        if (!platform_equal(p, p))
                abort();
        if (platform_parse(text, &again, &err) == 0 && memcmp(text, "linux/", 6) == 0 &&
            !platform_equal(p, &again))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const char *const types[] = {NULL, "application/vnd.oci.image.manifest.v1+json",
                                            "application/vnd.docker.distribution.manifest.list.v2+json",
                                            "text/html"};
        static const struct platform want = {.os = "linux", .architecture = "amd64"};
        struct manifest manifest;
        struct platform platform;
        struct cella_err err = {0};
        if (size < 1)
                return 0;
        size_t len = size - 1;
        char *text = malloc(len ? len : 1);
        memcpy(text, data + 1, len);
        if (manifest_read(text, len, types[data[0] % 4], &want, &manifest, &err) == 0)
                check_manifest(&manifest);
        else if (!err.msg[0])
                abort();
        memcpy(text, data + 1, len);
        if (manifest_config_platform(text, len, &platform, &err) == 0)
                check_platform(&platform);
        free(text);
        return 0;
}
