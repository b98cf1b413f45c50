/* image/registry/manifest.h -- parses manifests: the parts of an image.
 *
 * Supports Docker's schema 2 and OCI, and lists of manifests by platform.  Manifests are untrusted: the
 * caller has checked their digest, which shows that they are the requested ones, not that they are
 * harmless. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cella.h"
#include "image/store/reference.h"

#define MANIFEST_MAX (4u << 20)        /* bytes of a manifest; registries have the same limit */
#define MANIFEST_CONFIG_MAX (1u << 20) /* bytes of an image's configuration */
#define MANIFEST_LAYERS_MAX 127        /* as in docker */
#define MANIFEST_LIST_MAX 1024         /* maximum number of entries in a list */
#define MANIFEST_LAYER_MAX (32ull << 30)
#define MANIFEST_TOTAL_MAX (64ull << 30) /* all layers of one image, compressed */
#define MANIFEST_PLATFORM_SIZE 100

/* The supported types, for an Accept header. */
extern const char manifest_accept[];

struct platform {
        char os[32], architecture[32], variant[32]; /* names as in Go; variant may be "" */
};

struct descriptor {
        char digest[REFERENCE_DIGEST_SIZE];
        uint64_t size;
};

enum manifest_kind { MANIFEST_IMAGE, MANIFEST_LIST };

struct manifest {
        enum manifest_kind kind;
        struct descriptor chosen; /* of a list: the manifest for the platform, which may be a list again */
        struct descriptor config; /* of an image, like the following fields */
        unsigned n_layers;
        struct descriptor layers[MANIFEST_LAYERS_MAX]; /* lowest first; may contain duplicates */
        uint64_t bytes;                                /* of all layers */
};

/* Parses OS/ARCHITECTURE[/VARIANT].  Returns 0 or -EINVAL. */
int platform_parse(const char *text, struct platform *ret, struct cella_err *err);
/* Returns the platform of this machine: linux/amd64, linux/arm64. */
void platform_of_this_machine(struct platform *ret);
void platform_write(const struct platform *platform, char ret[MANIFEST_PLATFORM_SIZE]);
/* Returns whether an image for one platform runs on the other; arm64/v8 and amd64/v1 are the defaults. */
bool platform_equal(const struct platform *a, const struct platform *b);

/* Reads a manifest or a list of manifests.  type: the media type in the registry's answer, or NULL.  Of a
 * list, the entry for the platform `want` is chosen; -ENOENT, with a message that names the platforms of the
 * list, if there is none. */
int manifest_read(const char *text, size_t len, const char *type, const struct platform *want,
                  struct manifest *ret, struct cella_err *err);

/* Reads the platform in an image's configuration. */
int manifest_config_platform(const char *text, size_t len, struct platform *ret, struct cella_err *err);
