/* image/store/store.h -- reads the store of images: its location, its images, their data.
 *
 * It is linked into all programs that look images up; only cella-image writes (writer.h).  STATE/images has:
 *
 *      refs/NAME             the image's id; '/' is written as %2F
 *      meta/ID               the image's document (document.c), without its names
 *      roots/ID/             its root directory.  A process that uses it holds a shared flock() on it, which
 *                            prevents its removal
 *      layers/ lock tmp/     used by the writer (writer.h)
 *
 * An image exists if its meta exists: its root is added before and removed after that.  Every text is treated
 * as hostile: an attacker who took the unpacking process over could have written it. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/json.h"
#include "cella.h"

#define IMAGE_ID_LEN 64
#define IMAGE_META_VERSION "cella-image 1" /* first record of a file of meta/: see document.c */
#define IMAGE_META_MAX ((size_t)48 << 10)  /* a file of meta/; with its names it fits into 64 KiB */
#define IMAGE_NAME_MAX 220                 /* of a name in refs/, in its encoded form */
#define IMAGE_NAMES_MAX 64                 /* names shown of one image */
#define IMAGE_RUNTIMES_MAX 64
#define LAYERS_MAX 128       /* of an image */
#define IMAGE_LIST_MAX 1024  /* maximum of a store */
#define IMAGE_REFS_MAX 4096  /* names in a store, likewise */
#define IMAGE_HOST "host"    /* a view of this machine, not an image; reserved name */
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
        const char **names;  /* as stored; only set by image_list() and image_load_names() */
        const char **layers; /* diff ids, "sha256:..." */
        /* Its configuration for running it. */
        const char **env; /* K=V */
        const char *cwd;  /* absolute */
        const char *user; /* as in the image; resolved: */
        uint32_t uid, gid;
        const char **entrypoint, **cmd;
        const struct image_pair *labels;
        size_t n_labels;
        const struct image_pair *runtimes; /* value: the program's absolute path inside */
        size_t n_runtimes;
        void *memory[4]; /* memory that the pointers refer to */
};

struct image *image_free(struct image *image);
DEFINE_AUTO(struct image *, image_free)

/* Sets ret to the path of the store: below state, or, with NULL, below $CELLA_STATE, or in the default
 * directory of `cella serve`. */
int image_store_path(const char *state, char *ret, size_t size, struct cella_err *err);

/* Finds an image by id, by the beginning of an id that only one image has (6 digits or more), each with or
 * without "sha256:", or by name (python:3.12-slim is docker.io/library/python:3.12-slim).  A name never hides
 * an id.  CELLA_NOT_FOUND, with a hint, if there is none. */
int image_find(const char *store, const char *name, struct image **ret, struct cella_err *err);

/* The same in an open directory; store is only used for root, and may be NULL. */
int image_find_at(int dir, const char *store, const char *name, struct image **ret, struct cella_err *err);

/* Reads the meta of one image, by its complete id. */
int image_read(int dir, const char *store, const char *id, struct image **ret, struct cella_err *err);

/* Lists all images, the newest first, with their names; a missing store is empty.  Unreadable images are
 * omitted. */
int image_list(const char *store, struct image ***ret, size_t *ret_n, struct cella_err *err);
/* The same without fields that can be long (image_put_brief()), for callers that keep the list. */
int image_list_brief(const char *store, struct image ***ret, size_t *ret_n, struct cella_err *err);
void image_list_free(struct image **images, size_t n);

int image_load_names(const char *store, struct image *image, struct cella_err *err);
int image_load_names_at(int dir, struct image *image, struct cella_err *err);

/* Writes an image as JSON, in the form of the interfaces; with its names, if they were loaded. */
void image_put(struct json *j, const char *key, const struct image *image);
/* Without layers, environment, entry point, command and labels. */
void image_put_brief(struct json *j, const char *key, const struct image *image);

/* Returns the program of one of its runtimes, or NULL. */
const char *image_runtime(const struct image *image, const char *name);

/* Returns the short form of a name, without docker.io/ and library/; points into name. */
const char *image_name_short(const char *name);

/* Used by the writer. */
bool image_id_valid(const char *id);
/* Returns whether the name has the form of an id or of its beginning. */
bool image_name_is_id(const char *name);
/* Encodes a name as a file name of refs/: 0; -EINVAL if it is not valid; -ENAMETOOLONG. */
int image_name_file(const char *name, char ret[256]);
int image_name_of_file(const char *file, char ret[256]); /* decodes it */
/* Returns the image's document, *ret_len bytes, which the caller frees; NULL: no memory.  Strings must be
 * UTF-8. */
char *image_write(const struct image *image, size_t *ret_len);
/* Parses such a document.  -EINVAL if it is invalid or has another id; -ENOMEM. */
int image_parse(const char *text, size_t len, const char *id, const char *store, struct image **ret,
                struct cella_err *err);
