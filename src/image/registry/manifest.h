/* image/registry/manifest.h -- what a registry says an image consists of.
 *
 * Docker's schema 2 and OCI, and lists of them by platform.  Manifests come from anywhere: their digest is
 * checked by who fetched them, which says that they are what was asked for, not that they are good. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cella.h"
#include "image/store/reference.h"

#define MANIFEST_MAX (4u << 20)        /* bytes of one; registries have the same limit */
#define MANIFEST_CONFIG_MAX (1u << 20) /* bytes of an image's configuration */
#define MANIFEST_LAYERS_MAX 127        /* as in docker */
#define MANIFEST_LIST_MAX 1024         /* entries of a list that are looked at */
#define MANIFEST_LAYER_MAX (32ull << 30)
#define MANIFEST_TOTAL_MAX (64ull << 30) /* all layers of one image, compressed */
#define MANIFEST_PLATFORM_SIZE 100

/* What we can read, as an Accept header has it. */
extern const char manifest_accept[];

struct platform {
        char os[32], architecture[32], variant[32]; /* as Go spells them; no variant: empty */
};

struct descriptor {
        char digest[REFERENCE_DIGEST_SIZE];
        uint64_t size;
};

enum manifest_kind { MANIFEST_IMAGE, MANIFEST_LIST };

struct manifest {
        enum manifest_kind kind;
        struct descriptor chosen; /* of a list: the manifest for the platform, which may be a list again */
        struct descriptor config; /* of an image, as the rest */
        unsigned n_layers;
        struct descriptor layers[MANIFEST_LAYERS_MAX]; /* the lowest first; one may be there twice */
        uint64_t bytes;                                /* of all layers */
};

/* OS/ARCHITECTURE[/VARIANT].  -EINVAL. */
int platform_parse(const char *text, struct platform *ret, struct cella_err *err);
/* The platform that this machine runs: linux/amd64, linux/arm64. */
void platform_of_this_machine(struct platform *ret);
void platform_write(const struct platform *platform, char ret[MANIFEST_PLATFORM_SIZE]);
/* Whether what is made for one runs where the other is wanted; arm64/v8 and amd64/v1 are what everybody
 * means. */
bool platform_equal(const struct platform *a, const struct platform *b);

/* Reads a manifest or a list of manifests.  type: the media type in the registry's answer, or NULL.  Of a
 * list, the entry for the platform `want` is chosen; -ENOENT, with a message that names the platforms of the
 * list, if there is none. */
int manifest_read(const char *text, size_t len, const char *type, const struct platform *want,
                  struct manifest *ret, struct cella_err *err);

/* The platform that an image's configuration names. */
int manifest_config_platform(const char *text, size_t len, struct platform *ret, struct cella_err *err);
