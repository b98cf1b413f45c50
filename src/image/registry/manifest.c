#include "image/registry/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/foreign_json.h"

#define VALUES_MAX 100000 /* values in one document */
#define DOCKER "application/vnd.docker."
#define OCI "application/vnd.oci.image."

#define DOCKER_IMAGE DOCKER "distribution.manifest.v2+json"
#define DOCKER_LIST DOCKER "distribution.manifest.list.v2+json"
#define OCI_IMAGE OCI "manifest.v1+json"
#define OCI_LIST OCI "index.v1+json"

const char manifest_accept[] = DOCKER_IMAGE ", " DOCKER_LIST ", " OCI_IMAGE ", " OCI_LIST;

static int manifest_broken(struct cella_err *err, const char *what)
{
        return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG, "the registry's manifest is broken: %s", what);
}

static bool is_image_type(const char *type)
{
        return strcmp(type, DOCKER_IMAGE) == 0 || strcmp(type, OCI_IMAGE) == 0;
}

static bool is_list_type(const char *type)
{
        return strcmp(type, DOCKER_LIST) == 0 || strcmp(type, OCI_LIST) == 0;
}

static int read_descriptor(const json_t *v, uint64_t max, struct descriptor *ret, struct cella_err *err)
{
        const char *digest = foreign_json_get_text(v, "digest");
        int64_t size;
        if (!digest)
                return manifest_broken(err, "a part has no digest");
        if (!digest_is_valid(digest))
                return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                               "the image has a part whose digest is not SHA-256: '%.90s'", digest);
        if (!foreign_json_get_integer(v, "size", &size) || size < 0)
                return manifest_broken(err, "a part has no size");
        if ((uint64_t)size > max)
                return err_say(err, CELLA_TOO_LARGE, -EFBIG,
                               "a part of the image has %lld bytes, more than %llu", (long long)size,
                               (unsigned long long)max);
        memcpy(ret->digest, digest, sizeof ret->digest); /* valid digests have this length */
        ret->size = (uint64_t)size;
        return 0;
}

/* ---- an image ---- */

static bool is_layer_type(const char *type)
{
        static const char *const known[] = {
                DOCKER "image.rootfs.diff.tar",
                DOCKER "image.rootfs.diff.tar.gzip",
                DOCKER "image.rootfs.diff.tar.zstd",
                OCI "layer.v1.tar",
                OCI "layer.v1.tar+gzip",
                OCI "layer.v1.tar+zstd",
        };
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
                if (strcmp(type, known[i]) == 0)
                        return true;
        return false;
}

/* Old registries omitted the type. */
static bool is_config_type(const char *type)
{
        return strcmp(type, DOCKER "container.image.v1+json") == 0 ||
               strcmp(type, OCI "config.v1+json") == 0 || strcmp(type, "application/octet-stream") == 0;
}

static int read_layers(const json_t *layers, struct manifest *ret, struct cella_err *err)
{
        size_t i;
        json_t *v;
        if (json_array_size(layers) > MANIFEST_LAYERS_MAX)
                return err_say(err, CELLA_TOO_LARGE, -E2BIG, "the image has %zu layers, more than %d",
                               json_array_size(layers), MANIFEST_LAYERS_MAX);
        json_array_foreach (layers, i, v) {
                const char *type = foreign_json_get_text(v, "mediaType");
                if (!type || !is_layer_type(type)) {
                        err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                                "the image has a layer of a kind that cannot be unpacked: %.90s",
                                type ? type : "(not said)");
                        return -EBADMSG;
                }
                int e = read_descriptor(v, MANIFEST_LAYER_MAX, &ret->layers[ret->n_layers], err);
                if (e < 0)
                        return e;
                ret->bytes += ret->layers[ret->n_layers++].size; /* 127 times the maximum does not overflow */
        }
        if (ret->n_layers == 0)
                return manifest_broken(err, "it has no layer");
        if (ret->bytes > MANIFEST_TOTAL_MAX)
                return err_say(err, CELLA_TOO_LARGE, -EFBIG,
                               "the image's layers have %llu bytes, more than %llu",
                               (unsigned long long)ret->bytes, (unsigned long long)MANIFEST_TOTAL_MAX);
        return 0;
}

static int read_image(const json_t *top, struct manifest *ret, struct cella_err *err)
{
        const json_t *config = json_object_get(top, "config"), *layers = json_object_get(top, "layers");
        const char *type = foreign_json_get_text(config, "mediaType");
        if (!json_is_object(config) || !json_is_array(layers))
                return manifest_broken(err, "config or layers are invalid");
        if (!type || !is_config_type(type)) {
                err_say(err, CELLA_INVALID_REQUEST, -EBADMSG, "this is not an image, but %.90s",
                        type ? type : "something of an unknown type");
                return -EBADMSG;
        }
        int e = read_descriptor(config, MANIFEST_CONFIG_MAX, &ret->config, err);
        return e < 0 ? e : read_layers(layers, ret, err);
}

/* ---- a list ---- */

static bool copy_part(const json_t *object, const char *name, char *ret, size_t size)
{
        const char *text = foreign_json_get_text(object, name);
        size_t len = text ? strlen(text) : 0;
        ret[0] = '\0';
        if (len >= size)
                return false;
        for (size_t i = 0; i < len; i++) /* a slash separates the parts in the written form */
                if (text[i] <= ' ' || text[i] > '~' || text[i] == '/')
                        return false;
        memcpy(ret, text ? text : "", len + 1);
        return true;
}

static bool read_platform(const json_t *v, struct platform *ret)
{
        return copy_part(v, "os", ret->os, sizeof ret->os) &&
               copy_part(v, "architecture", ret->architecture, sizeof ret->architecture) &&
               copy_part(v, "variant", ret->variant, sizeof ret->variant) && ret->os[0] &&
               ret->architecture[0];
}

/* Signatures and similar entries are listed with images; their platform is unknown/unknown. */
static bool is_for_machines(const struct platform *p)
{
        return strcmp(p->os, "unknown") != 0;
}

static void add_word(char *text, size_t size, const char *word)
{
        size_t used = strlen(text);
        if (used + strlen(word) + 7 < size)
                snprintf(text + used, size - used, "%s%s", used ? ", " : "", word);
        else if (used + 6 < size && strcmp(text + used - 3, "...") != 0)
                snprintf(text + used, size - used, ", ...");
}

static int nothing_fits(const json_t *list, const struct platform *want, struct cella_err *err)
{
        char wanted[MANIFEST_PLATFORM_SIZE], word[MANIFEST_PLATFORM_SIZE], there[200] = "";
        struct platform p;
        size_t i;
        json_t *v;
        json_array_foreach (list, i, v) {
                if (!read_platform(json_object_get(v, "platform"), &p) || !is_for_machines(&p))
                        continue;
                platform_write(&p, word);
                add_word(there, sizeof there, word);
        }
        platform_write(want, wanted);
        err_say(err, CELLA_NOT_FOUND, -ENOENT, "there is no image for %s under this name, only for: %s",
                wanted, there[0] ? there : "nothing");
        err_hint(err, "another tag may have it; --platform pulls for another machine");
        return -ENOENT;
}

static int read_list(const json_t *list, const struct platform *want, struct manifest *ret,
                     struct cella_err *err)
{
        const json_t *found = NULL, *nameless = NULL;
        struct platform p;
        size_t i;
        json_t *v;
        if (!json_is_array(list))
                return manifest_broken(err, "manifests is not a list");
        if (json_array_size(list) > MANIFEST_LIST_MAX)
                return err_say(err, CELLA_TOO_LARGE, -E2BIG, "the list has %zu manifests, more than %d",
                               json_array_size(list), MANIFEST_LIST_MAX);
        json_array_foreach (list, i, v) {
                const char *type = foreign_json_get_text(v, "mediaType");
                const json_t *platform = json_object_get(v, "platform");
                if (!type || (!is_image_type(type) && !is_list_type(type)))
                        continue;
                if (foreign_json_is_absent(v, "platform"))
                        nameless = v;
                else if (read_platform(platform, &p) && platform_equal(&p, want))
                        found = found ? found : v;
        }
        /* Some tools write a list with one entry and no platform for a single image. */
        if (!found && json_array_size(list) == 1)
                found = nameless;
        if (!found)
                return nothing_fits(list, want, err);
        return read_descriptor(found, MANIFEST_MAX, &ret->chosen, err);
}

/* ---- both kinds ---- */

static int read_top(const json_t *top, const char *type, const struct platform *want, struct manifest *ret,
                    struct cella_err *err)
{
        int64_t version = 0;
        const json_t *layers = json_object_get(top, "layers"), *list = json_object_get(top, "manifests");
        const char *said = foreign_json_get_text(top, "mediaType");
        if (!json_is_object(top))
                return manifest_broken(err, "it is not an object");
        if (foreign_json_get_integer(top, "schemaVersion", &version) && version == 1) {
                err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                        "the image has a manifest of Docker's old schema 1");
                err_hint(err, "build or push it again with a current version of Docker");
                return -EBADMSG;
        }
        if (version != 2)
                return manifest_broken(err, "its schemaVersion is not 2");
        /* A document that one parser treats as an image and another as a list is an attempt to deceive. */
        if (!layers == !list || (list && json_object_get(top, "config")))
                return manifest_broken(err, "it is neither an image nor a list");
        for (int i = 0; i < 2; i++) {
                const char *name = i ? type : said;
                if (name && (layers ? is_list_type(name) : is_image_type(name)))
                        return manifest_broken(err, "its content does not match its media type");
        }
        if (said && !is_image_type(said) && !is_list_type(said)) {
                err_say(err, CELLA_INVALID_REQUEST, -EBADMSG, "this is not an image, but %.90s", said);
                return -EBADMSG;
        }
        ret->kind = layers ? MANIFEST_IMAGE : MANIFEST_LIST;
        return layers ? read_image(top, ret, err) : read_list(list, want, ret, err);
}

int manifest_read(const char *text, size_t len, const char *type, const struct platform *want,
                  struct manifest *ret, struct cella_err *err)
{
        struct cella_err why = {0};
        struct manifest m = {0};
        if (len > MANIFEST_MAX)
                return err_say(err, CELLA_TOO_LARGE, -EFBIG, "the manifest has more than %u bytes",
                               MANIFEST_MAX);
        AUTO(json_decref) json_t *top = foreign_json_parse(text, len, VALUES_MAX, 0, &why);
        if (!top)
                return manifest_broken(err, why.msg);
        int e = read_top(top, type, want, &m, err);
        if (e < 0)
                return e;
        *ret = m;
        return 0;
}

int manifest_config_platform(const char *text, size_t len, struct platform *ret, struct cella_err *err)
{
        struct cella_err why = {0};
        struct platform p;
        AUTO(json_decref) json_t *top = foreign_json_parse(text, len, VALUES_MAX, 0, &why);
        if (!top)
                return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                               "the image's configuration is broken: %s", why.msg);
        if (!read_platform(top, &p))
                return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                               "the image's configuration has no platform");
        *ret = p;
        return 0;
}
