#include "image/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "image/store/reference.h"
#include "sys/file.h"

#define ID_PREFIX_MIN 6

/* ---- names ---- */

bool image_id_valid(const char *id)
{
        return strspn(id, "0123456789abcdef") == IMAGE_ID_LEN && id[IMAGE_ID_LEN] == '\0';
}

bool image_name_is_id(const char *name)
{
        bool said = strncmp(name, "sha256:", 7) == 0;
        const char *hex = said ? name + 7 : name;
        size_t len = strspn(hex, "0123456789abcdef");
        return said || (hex[len] == '\0' && len >= ID_PREFIX_MIN && len <= IMAGE_ID_LEN);
}

/* No name begins with a dot, so "." and ".." are impossible. */
int image_name_file(const char *name, char ret[256])
{
        size_t n = 0;
        if (name[0] == '\0' || name[0] == '.' || name[0] == '/' || strcmp(name, IMAGE_HOST) == 0)
                return -EINVAL;
        for (const char *p = name; *p; p++) {
                bool word = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
                if (!word && !strchr("._-/:@[]", *p))
                        return -EINVAL;
                if (n + 3 > IMAGE_NAME_MAX)
                        return -ENAMETOOLONG;
                if (*p == '/') {
                        memcpy(ret + n, "%2F", 3);
                        n += 3;
                } else {
                        ret[n++] = *p;
                }
        }
        ret[n] = '\0';
        return 0;
}

int image_name_of_file(const char *file, char ret[256])
{
        char again[256];
        size_t n = 0;
        for (const char *p = file; *p; p++) {
                if (n + 1 >= 256)
                        return -ENAMETOOLONG;
                if (strncmp(p, "%2F", 3) != 0) {
                        ret[n++] = *p;
                        continue;
                }
                ret[n++] = '/';
                p += 2;
        }
        ret[n] = '\0';
        /* A file name that would be encoded differently is not a name: a file under construction, or a
         * foreign file. */
        return image_name_file(ret, again) == 0 && strcmp(again, file) == 0 ? 0 : -EINVAL;
}

const char *image_name_short(const char *name)
{
        static const char registry[] = "docker.io/", library[] = "library/";
        if (strncmp(name, registry, sizeof registry - 1) != 0)
                return name;
        name += sizeof registry - 1;
        return strncmp(name, library, sizeof library - 1) == 0 ? name + sizeof library - 1 : name;
}

int image_store_path(const char *state, char *ret, size_t size, struct cella_err *err)
{
        const char *variable = getenv("CELLA_STATE"), *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
        int n;
        if (!state && variable && variable[0])
                state = variable;
        if (state && state[0] != '/')
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "the state directory must be an absolute path, not '%.120s'", state);
        if (state)
                n = snprintf(ret, size, "%s/" IMAGE_STORE, state);
        else if (geteuid() == 0)
                n = snprintf(ret, size, "/var/lib/cella/" IMAGE_STORE);
        else if (xdg && xdg[0] == '/')
                n = snprintf(ret, size, "%s/cella/" IMAGE_STORE, xdg);
        else if (home && home[0] == '/')
                n = snprintf(ret, size, "%s/.local/state/cella/" IMAGE_STORE, home);
        else
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "set the state directory: --state DIR, or CELLA_STATE");
        if (n < 0 || (size_t)n >= size)
                return err_say(err, CELLA_INVALID_REQUEST, -ENAMETOOLONG,
                               "the path of the state directory is too long");
        return 0;
}

/* ---- looking up ---- */

static int read_ref(int dir, const char *file, char ret[IMAGE_ID_LEN + 1])
{
        char path[300], text[IMAGE_ID_LEN + 8];
        snprintf(path, sizeof path, "refs/%s", file);
        ssize_t n = sys_read_file(dir, path, text, sizeof text);
        if (n < 0)
                return (int)n;
        text[strcspn(text, "\n")] = '\0';
        if (!image_id_valid(text))
                return -EINVAL;
        memcpy(ret, text, IMAGE_ID_LEN + 1);
        return 0;
}

static int read_name(int dir, const char *name, char ret[IMAGE_ID_LEN + 1])
{
        char file[256];
        int r = image_name_file(name, file);
        return r < 0 ? r : read_ref(dir, file, ret);
}

/* Opens a directory of the store for listing; NULL with errno. */
static DIR *open_list(int dir, const char *name)
{
        int fd = sys_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (fd < 0) {
                errno = -fd;
                return NULL;
        }
        DIR *list = fdopendir(fd);
        if (!list)
                sys_close(fd);
        return list;
}

static int find_prefix(int dir, const char *prefix, char ret[IMAGE_ID_LEN + 1])
{
        size_t len = strlen(prefix), found = 0;
        const struct dirent *entry;
        if (len < ID_PREFIX_MIN || len > IMAGE_ID_LEN || strspn(prefix, "0123456789abcdef") != len)
                return -ENOENT;
        DIR *list = open_list(dir, "meta");
        if (!list)
                return -errno;
        while (found < 2 && (entry = readdir(list)))
                if (image_id_valid(entry->d_name) && strncmp(entry->d_name, prefix, len) == 0) {
                        memcpy(ret, entry->d_name, IMAGE_ID_LEN + 1);
                        found++;
                }
        closedir(list);
        return found == 1 ? 0 : found == 0 ? -ENOENT : -ENOTUNIQ;
}

/* An id always refers to its own image, whatever names there are, because images are pinned by id.  Only if
 * the beginning of an id matches no image, it is looked up as a name: there may be a repository "facade". */
static int find_id(int dir, const char *name, char ret[IMAGE_ID_LEN + 1])
{
        struct reference reference;
        char whole[REFERENCE_SIZE];
        if (image_name_is_id(name)) {
                bool said = strncmp(name, "sha256:", 7) == 0;
                int r = find_prefix(dir, said ? name + 7 : name, ret);
                if (r != -ENOENT || said || image_id_valid(name))
                        return r;
        }
        if (read_name(dir, name, ret) == 0)
                return 0;
        if (reference_parse(name, &reference, NULL) == 0) {
                reference_write(&reference, whole);
                if (read_name(dir, whole, ret) == 0)
                        return 0;
        }
        return -ENOENT;
}

static int store_not_found(const char *name, int r, struct cella_err *err)
{
        struct reference reference;
        char file[256];
        if (strcmp(name, IMAGE_HOST) == 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "'" IMAGE_HOST "' is not an image of the store: it is this machine");
        if (r == -ENOTUNIQ)
                return err_say(err, CELLA_NOT_FOUND, -ENOENT, "several images have an id that begins with %s",
                               name);
        if (r == -EACCES || r == -EPERM)
                return err_set(err, CELLA_ACCESS_DENIED, r, "cannot read the store of images");
        if (image_name_file(name, file) < 0)
                return reference_parse(name, &reference, err) < 0
                               ? -EINVAL
                               : err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                         "'%.120s' is not the name of an image", name);
        err_say(err, CELLA_NOT_FOUND, -ENOENT, "image not found: %.160s", name);
        if (reference_parse(name, &reference, NULL) == 0)
                err_hint(err, "cella image pull %.120s, or cella image ls for the existing ones", name);
        else
                err_hint(err, "cella image ls shows the existing ones");
        return -ENOENT;
}

/* Returns whether the document is of an earlier version, which only cella-image can read (upgrade.h). */
static bool is_of_earlier_version(int dir, const char *id)
{
        char path[IMAGE_ID_LEN + 16];
        snprintf(path, sizeof path, "meta/%s.json", id);
        return faccessat(dir, path, F_OK, 0) == 0;
}

int image_find_at(int dir, const char *store, const char *name, struct image **ret, struct cella_err *err)
{
        char id[IMAGE_ID_LEN + 1];
        int r = strcmp(name, IMAGE_HOST) == 0 ? -EINVAL : find_id(dir, name, id);
        if (r < 0)
                return store_not_found(name, r, err);
        r = image_read(dir, store, id, ret, err);
        if (r == -ENOENT && is_of_earlier_version(dir, id)) {
                err_say(err, CELLA_NOT_FOUND, -ENOENT,
                        "image %.160s was stored by an earlier version of cella", name);
                return err_hint(err, "cella image gc converts it");
        }
        /* A name without an image is ignored: it is being removed, or is a leftover. */
        return r == -ENOENT ? store_not_found(name, r, err) : r;
}

int image_find(const char *store, const char *name, struct image **ret, struct cella_err *err)
{
        AUTO(sys_close) int dir = sys_openat(AT_FDCWD, store, O_RDONLY | O_DIRECTORY, 0);
        if (dir < 0)
                return store_not_found(name, dir, err);
        return image_find_at(dir, store, name, ret, err);
}

int image_read(int dir, const char *store, const char *id, struct image **ret, struct cella_err *err)
{
        char path[IMAGE_ID_LEN + 16];
        if (!image_id_valid(id))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "an image's id has 64 digits");
        snprintf(path, sizeof path, "meta/%s", id);
        char *text = malloc(IMAGE_META_MAX + 1);
        if (!text)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "an image");
        ssize_t n = sys_read_file(dir, path, text, IMAGE_META_MAX + 1);
        if (n < 0) {
                free(text);
                return err_set(err, n == -ENOENT ? CELLA_NOT_FOUND : CELLA_INTERNAL, (int)n,
                               "cannot read the record of image %.12s", id);
        }
        int r = image_parse(text, (size_t)n, id, store, ret, err);
        free(text);
        return r;
}

/* ---- lists ---- */

/* Names of refs/ that lead to an image, of one id or of all. */
struct ref {
        char id[IMAGE_ID_LEN + 1];
        char name[256];
};

static int compare_refs(const void *a, const void *b)
{
        const struct ref *x = a, *y = b;
        int r = strcmp(x->id, y->id);
        return r ? r : strcmp(x->name, y->name);
}

static int read_refs(int dir, const char *id, struct ref **ret, size_t *ret_n)
{
        struct ref *refs = NULL;
        size_t n = 0, size = 0;
        const struct dirent *entry;
        DIR *list = open_list(dir, "refs");
        if (!list)
                return errno == ENOENT ? 0 : -errno;
        while (n < IMAGE_REFS_MAX && (entry = readdir(list))) {
                struct ref ref = {0};
                if (image_name_of_file(entry->d_name, ref.name) < 0 ||
                    read_ref(dir, entry->d_name, ref.id) < 0 || (id && strcmp(id, ref.id) != 0))
                        continue;
                if (n == size) {
                        size = size ? size * 2 : 16;
                        struct ref *more = realloc(refs, size * sizeof *refs);
                        if (!more) {
                                free(refs);
                                closedir(list);
                                return -ENOMEM;
                        }
                        refs = more;
                }
                refs[n++] = ref;
        }
        closedir(list);
        if (n > 0)
                qsort(refs, n, sizeof *refs, compare_refs);
        *ret = refs;
        *ret_n = n;
        return 0;
}

/* refs are those of this image only.  One block contains the list and the texts. */
static int set_names(struct image *image, const struct ref *refs, size_t n)
{
        size_t size = 0;
        if (n > IMAGE_NAMES_MAX)
                n = IMAGE_NAMES_MAX;
        for (size_t i = 0; i < n; i++)
                size += strlen(refs[i].name) + 1;
        char *memory = calloc(1, (n + 1) * sizeof(char *) + size);
        if (!memory)
                return -ENOMEM;
        image->names = (const char **)(void *)memory;
        char *text = memory + (n + 1) * sizeof(char *);
        for (size_t i = 0; i < n; i++) {
                image->names[i] = text;
                text = stpcpy(text, refs[i].name) + 1;
        }
        free(image->memory[3]);
        image->memory[3] = memory;
        return 0;
}

int image_load_names_at(int dir, struct image *image, struct cella_err *err)
{
        struct ref *refs = NULL;
        size_t n = 0;
        int r = read_refs(dir, image->id, &refs, &n);
        if (r == 0)
                r = set_names(image, refs, n);
        free(refs);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot read the names of images") : 0;
}

int image_load_names(const char *store, struct image *image, struct cella_err *err)
{
        AUTO(sys_close) int dir = sys_openat(AT_FDCWD, store, O_RDONLY | O_DIRECTORY, 0);
        return dir < 0 ? err_set(err, CELLA_INTERNAL, dir, "cannot read the store of images")
                       : image_load_names_at(dir, image, err);
}

static int compare_images(const void *a, const void *b)
{
        const struct image *x = *(struct image *const *)a, *y = *(struct image *const *)b;
        if (x->created_ms != y->created_ms)
                return x->created_ms > y->created_ms ? -1 : 1;
        return strcmp(x->id, y->id);
}

/* Frees the image and returns it without lists that can be long; NULL: no memory. */
static struct image *make_brief(struct image *image, const char *store)
{
        static const char *none[] = {NULL};
        struct image shown = *image, *brief = NULL;
        size_t len = 0;
        shown.layers = shown.env = shown.entrypoint = shown.cmd = none;
        shown.n_labels = 0;
        char *text = image_write(&shown, &len);
        if (text)
                image_parse(text, len, image->id, store, &brief, NULL);
        free(text);
        image_free(image);
        return brief;
}

static int store_read_all(int dir, const char *store, bool brief, struct image **images, size_t *n)
{
        const struct dirent *entry;
        DIR *list = open_list(dir, "meta");
        if (!list)
                return errno == ENOENT ? 0 : -errno;
        while (*n < IMAGE_LIST_MAX && (entry = readdir(list))) {
                struct image *image = NULL;
                if (!image_id_valid(entry->d_name) || image_read(dir, store, entry->d_name, &image, NULL) < 0)
                        continue;
                if (brief)
                        image = make_brief(image, store);
                if (image)
                        images[(*n)++] = image;
        }
        closedir(list);
        return 0;
}

static int compare_ids(const void *a, const void *b)
{
        return strcmp((*(struct image *const *)a)->id, (*(struct image *const *)b)->id);
}

/* Both lists are sorted by id and are merged. */
static int name_all(int dir, struct image **images, size_t n)
{
        struct ref *refs = NULL;
        size_t n_refs = 0, from = 0, to;
        int r = read_refs(dir, NULL, &refs, &n_refs);
        qsort(images, n, sizeof(struct image *), compare_ids);
        for (size_t i = 0; i < n && r == 0; i++, from = to) {
                while (from < n_refs && strcmp(refs[from].id, images[i]->id) < 0)
                        from++;
                for (to = from; to < n_refs && strcmp(refs[to].id, images[i]->id) == 0;)
                        to++;
                r = set_names(images[i], refs ? refs + from : NULL, to - from);
        }
        free(refs);
        return r;
}

static int list_images(const char *store, bool brief, struct image ***ret, size_t *ret_n,
                       struct cella_err *err)
{
        size_t n = 0;
        struct image **images = calloc(IMAGE_LIST_MAX, sizeof(struct image *));
        AUTO(sys_close) int dir = sys_openat(AT_FDCWD, store, O_RDONLY | O_DIRECTORY, 0);
        int r = !images          ? -ENOMEM
                : dir == -ENOENT ? 0
                : dir < 0        ? dir
                                 : store_read_all(dir, store, brief, images, &n);
        if (r == 0 && n > 0)
                r = name_all(dir, images, n);
        if (r < 0) {
                image_list_free(images, n);
                return err_set(err, r == -EACCES ? CELLA_ACCESS_DENIED : CELLA_INTERNAL, r,
                               "cannot read the store of images");
        }
        qsort(images, n, sizeof(struct image *), compare_images);
        *ret = images;
        *ret_n = n;
        return 0;
}

int image_list(const char *store, struct image ***ret, size_t *ret_n, struct cella_err *err)
{
        return list_images(store, false, ret, ret_n, err);
}

int image_list_brief(const char *store, struct image ***ret, size_t *ret_n, struct cella_err *err)
{
        return list_images(store, true, ret, ret_n, err);
}

void image_list_free(struct image **images, size_t n)
{
        for (size_t i = 0; i < n; i++)
                image_free(images[i]);
        free(images);
}
