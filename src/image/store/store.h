/* image/store/store.h -- reads the store of images: where it is, which images it has, what each of them is.
 *
 * Linked into everything that looks images up; only cella-image writes (writer.h).  What is below
 * STATE/images:
 *
 *      refs/NAME             the image's id; '/' is written %2F
 *      meta/ID               the image's document (document.c), without its names
 *      roots/ID/             its root directory.  Whoever uses it holds a shared flock() on it meanwhile, so
 * that it is not removed layers/ lock tmp/     the writer's own, see there
 *
 * An image is there when its meta is: its root came before and goes after.  Every text is treated as hostile:
 * whoever took the unpacking process over could have written it. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/json.h"
#include "cella.h"

#define IMAGE_ID_LEN 64
#define IMAGE_META_MAX ((size_t)48 << 10) /* a file of meta/; with its names it fits in 64 KiB */
#define IMAGE_NAME_MAX 220                /* of a name in refs/, as it is written there */
#define IMAGE_NAMES_MAX 64                /* shown of one image */
#define IMAGE_RUNTIMES_MAX 64
#define LAYERS_MAX 128       /* of an image */
#define IMAGE_LIST_MAX 1024  /* in a store: it takes no more */
#define IMAGE_REFS_MAX 4096  /* names of them, likewise */
#define IMAGE_HOST "host"    /* no image, but a view of this machine; nobody else may have the name */
#define IMAGE_STORE "images" /* below the state directory */

struct image_pair {
        const char *name, *value;
};

/* Lists of strings end with NULL.  No string is NULL. */
struct image {
        char id[IMAGE_ID_LEN + 1];
        char *root;         /* absolute if the store was */
        const char *digest; /* of its manifest, "sha256:..."; empty: none */
        const char *platform, *source;
        uint64_t created_ms, bytes, files;
        const char **names;  /* as they are stored; only image_list() and image_load_names() fill this in */
        const char **layers; /* diff ids, "sha256:..." */
        /* What it says about running it. */
        const char **env; /* K=V */
        const char *cwd;  /* absolute */
        const char *user; /* as the image has it; resolved: */
        uint32_t uid, gid;
        const char **entrypoint, **cmd;
        const struct image_pair *labels;
        size_t n_labels;
        const struct image_pair *runtimes; /* value: the program's absolute path inside */
        size_t n_runtimes;
        void *memory[4]; /* what the pointers point into */
};

struct image *image_free(struct image *image);
DEFINE_AUTO(struct image *, image_free)

/* Where the store is: below state, or, with NULL, below $CELLA_STATE, or where `cella serve` keeps things. */
int image_store_path(const char *state, char *ret, size_t size, struct cella_err *err);

/* By id, by the beginning of an id that only one image has (6 digits or more), each with or without sha256:
 * before it, or by name (python:3.12-slim is docker.io/library/python:3.12-slim).  No name hides an id.
 * CELLA_NOT_FOUND, with a hint, if there is none. */
int image_find(const char *store, const char *name, struct image **ret, struct cella_err *err);

/* The same in a directory that is open already; store is only for root, and may be NULL. */
int image_find_at(int dir, const char *store, const char *name, struct image **ret, struct cella_err *err);

/* One image's meta, by its whole id. */
int image_read(int dir, const char *store, const char *id, struct image **ret, struct cella_err *err);

/* All of them, the newest first, with their names; no store is no image.  What cannot be read is left out. */
int image_list(const char *store, struct image ***ret, size_t *ret_n, struct cella_err *err);
/* The same without what can be long of each (image_put_brief()), for who keeps them. */
int image_list_brief(const char *store, struct image ***ret, size_t *ret_n, struct cella_err *err);
void image_list_free(struct image **images, size_t n);

int image_load_names(const char *store, struct image *image, struct cella_err *err);
int image_load_names_at(int dir, struct image *image, struct cella_err *err);

/* An image as JSON, as interfaces show it; with its names, if they were loaded. */
void image_put(struct json *j, const char *key, const struct image *image);
/* Without layers, environment, entry point, command and labels. */
void image_put_brief(struct json *j, const char *key, const struct image *image);

/* The program of one of its runtimes, or NULL. */
const char *image_runtime(const struct image *image, const char *name);

/* A name as people write it, without docker.io/ and library/; points into name. */
const char *image_name_short(const char *name);

/* For the writer. */
bool image_id_valid(const char *id);
/* Is it written as an id is, or the beginning of one? */
bool image_name_is_id(const char *name);
/* As a file of refs/ is called: -EINVAL if it cannot be one, -ENAMETOOLONG. */
int image_name_file(const char *name, char ret[256]);
int image_name_of_file(const char *file, char ret[256]); /* the way back */
/* The image's document, *ret_len bytes, for the caller to free(); NULL: no memory.  Strings must be UTF-8. */
char *image_write(const struct image *image, size_t *ret_len);
/* Reads such a document.  -EINVAL if it is broken or that of another id; -ENOMEM. */
int image_parse(const char *text, size_t len, const char *id, const char *store, struct image **ret,
                struct cella_err *err);
