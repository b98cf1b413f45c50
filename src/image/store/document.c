/* image/store/document.c -- the document of an image: a file of meta/, and a message of cella-docker
 * (store.h).
 *
 * The format is not JSON, so that the static programs that look images up need no JSON parser.  A document is
 * a sequence of records, each terminated by a NUL, so that nothing needs escaping:
 *
 * - "cella-image 1", the version of the format, comes first.
 * - "id HEX" occurs at most once, and so do digest, platform, source, created_ms, bytes, files, cwd, user,
 * uid and gid.
 * - "layer sha256:HEX" occurs any number of times, in order, and so do env, entrypoint and cmd.
 * - "label NAME" occurs at most once for each NAME, followed by a record "=VALUE", and so does runtime.
 *
 * `tr '\0' '\n'` makes a document readable. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "image/store/store.h"

#define ID_MAX 0x7ffffffe /* user and group ids: the largest that every kernel interface accepts */

struct image *image_free(struct image *image)
{
        if (!image)
                return NULL;
        for (size_t i = 0; i < ARRAY_LEN(image->memory); i++)
                free(image->memory[i]);
        free(image);
        return NULL;
}

/* ---- reading ---- */

struct parser {
        const char *begin, *end; /* of the records */
        const char **strings;    /* free part of the block for lists */
        struct image_pair *pairs;
        bool bad;
};

static const char *next_record(const struct parser *p, const char *record)
{
        record += strlen(record) + 1;
        return record < p->end ? record : NULL;
}

/* Returns the value if the record has this key; otherwise NULL. */
static const char *value_of(const char *record, const char *key)
{
        const size_t len = strlen(key);
        return strncmp(record, key, len) == 0 && record[len] == ' ' ? record + len + 1 : NULL;
}

/* Returns the value of a key that occurs at most once; "" if it is missing. */
static const char *get_text(struct parser *p, const char *key)
{
        const char *found = NULL;
        for (const char *record = p->begin; record; record = next_record(p, record)) {
                const char *value = value_of(record, key);
                if (value && found)
                        p->bad = true;
                found = value ? value : found;
        }
        return found ? found : "";
}

static uint64_t get_number(struct parser *p, const char *key, uint64_t max)
{
        const char *text = get_text(p, key);
        const size_t digits = strspn(text, "0123456789");
        const uint64_t value = digits > 0 && digits < 20 ? strtoull(text, NULL, 10) : 0;
        if (text[digits] != '\0' || digits >= 20 || value > max)
                p->bad = true;
        return p->bad ? 0 : value;
}

static const char **get_list(struct parser *p, const char *key)
{
        const char **begin = p->strings;
        for (const char *record = p->begin; record; record = next_record(p, record))
                if (value_of(record, key))
                        *p->strings++ = value_of(record, key);
        *p->strings++ = NULL;
        return begin;
}

static bool is_in_pairs(const struct image_pair *pairs, const struct image_pair *end, const char *name)
{
        for (; pairs < end; pairs++)
                if (strcmp(pairs->name, name) == 0)
                        return true;
        return false;
}

static const struct image_pair *get_pairs(struct parser *p, const char *key, size_t *ret_n)
{
        const struct image_pair *begin = p->pairs;
        for (const char *record = p->begin; record; record = next_record(p, record)) {
                const char *name = value_of(record, key), *value = name ? next_record(p, record) : NULL;
                if (value && value[0] == '=' && !is_in_pairs(begin, p->pairs, name))
                        *p->pairs++ = (struct image_pair){name, value + 1};
                else if (name)
                        p->bad = true;
        }
        *ret_n = (size_t)(p->pairs - begin);
        return begin;
}

/* Checks that every record is UTF-8 and has a key of this version. */
static bool are_records_known(const struct parser *p)
{
        static const char *const keys[] = {"id",    "digest", "platform", "source",     "created_ms", "bytes",
                                           "files", "cwd",    "user",     "uid",        "gid",        "layer",
                                           "env",   "cmd",    "label",    "entrypoint", "runtime"};
        bool pair = false; /* the previous record begins a pair */
        for (const char *record = p->begin; record; record = next_record(p, record)) {
                bool known = pair && record[0] == '=';
                for (size_t i = 0; i < ARRAY_LEN(keys) && !known; i++)
                        known = value_of(record, keys[i]) != NULL;
                const char *end = record + strlen(record);
                for (const char *at = record; at < end && known;) {
                        const size_t len = utf8_len(at, (size_t)(end - at));
                        known = len > 0;
                        at += len;
                }
                if (!known)
                        return false;
                pair = value_of(record, "label") || value_of(record, "runtime");
        }
        return true;
}

static bool are_variables(const char *const *env)
{
        for (; *env; env++)
                if (!strchr(*env, '=') || (*env)[0] == '=')
                        return false;
        return true;
}

static bool are_programs(const struct image_pair *runtimes, size_t n)
{
        for (size_t i = 0; i < n; i++)
                if (runtimes[i].value[0] != '/')
                        return false;
        return n <= IMAGE_RUNTIMES_MAX;
}

static int fill_in(struct image *image, struct parser *p, const char *id)
{
        if (!are_records_known(p) || strcmp(get_text(p, "id"), id) != 0)
                return -EINVAL;
        memcpy(image->id, id, IMAGE_ID_LEN + 1);
        image->digest = get_text(p, "digest");
        image->platform = get_text(p, "platform");
        image->source = get_text(p, "source");
        image->created_ms = get_number(p, "created_ms", INT64_MAX);
        image->bytes = get_number(p, "bytes", INT64_MAX);
        image->files = get_number(p, "files", INT64_MAX);
        image->layers = get_list(p, "layer");
        image->env = get_list(p, "env");
        image->cwd = get_text(p, "cwd");
        image->user = get_text(p, "user");
        image->uid = (uint32_t)get_number(p, "uid", ID_MAX);
        image->gid = (uint32_t)get_number(p, "gid", ID_MAX);
        image->entrypoint = get_list(p, "entrypoint");
        image->cmd = get_list(p, "cmd");
        image->labels = get_pairs(p, "label", &image->n_labels);
        image->runtimes = get_pairs(p, "runtime", &image->n_runtimes);
        image->names = p->strings; /* an empty list */
        return p->bad || image->cwd[0] != '/' || !are_variables(image->env) ||
                               !are_programs(image->runtimes, image->n_runtimes)
                       ? -EINVAL
                       : 0;
}

/* Each record is at most one element of one list or pair; there are four lists, and that of names. */
static int store_document_parse(struct image *image, const char *text, size_t len, const char *id)
{
        size_t n = 0;
        for (const char *at = text; (at = memchr(at, '\0', (size_t)(text + len - at))); at++)
                n++;
        if (len == 0 || text[len - 1] != '\0' || strcmp(text, IMAGE_META_VERSION) != 0 ||
            len == sizeof IMAGE_META_VERSION)
                return -EINVAL;
        image->memory[1] = calloc(n + 5, sizeof(char *));
        image->memory[2] = calloc(n, sizeof(struct image_pair));
        if (!image->memory[1] || !image->memory[2])
                return -ENOMEM;
        struct parser p = {.begin = text + sizeof IMAGE_META_VERSION,
                           .end = text + len,
                           .strings = image->memory[1],
                           .pairs = image->memory[2]};
        return fill_in(image, &p, id);
}

int image_parse(const char *text, size_t len, const char *id, const char *store, struct image **ret,
                struct cella_err *err)
{
        AUTO(image_free) struct image *image = calloc(1, sizeof *image);
        size_t root_size = (store ? strlen(store) : 0) + IMAGE_ID_LEN + 8;
        if (!image || !(image->memory[0] = malloc(len + root_size)))
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "an image");
        char *memory = image->memory[0];
        memcpy(memory, text, len);
        image->root = memory + len;
        snprintf(image->root, root_size, "%s%sroots/%s", store ? store : "", store ? "/" : "", id);
        int r = store_document_parse(image, memory, len, id);
        if (r < 0) {
                err_say(err, CELLA_INTERNAL, r, "the store's document of image %.12s is broken", id);
                return err_hint(err, "cella image gc removes it; then get it again");
        }
        *ret = TAKE(image);
        return 0;
}

const char *image_runtime(const struct image *image, const char *name)
{
        for (size_t i = 0; i < image->n_runtimes; i++)
                if (strcmp(image->runtimes[i].name, name) == 0)
                        return image->runtimes[i].value;
        return NULL;
}

/* ---- writing ---- */

static void store_document_put_text(FILE *out, const char *key, const char *value)
{
        fprintf(out, "%s %s%c", key, value, '\0');
}

static void store_document_put_number(FILE *out, const char *key, uint64_t value)
{
        fprintf(out, "%s %llu%c", key, (unsigned long long)value, '\0');
}

static void store_document_put_list(FILE *out, const char *key, const char *const *list)
{
        for (; list && *list; list++)
                store_document_put_text(out, key, *list);
}

static void put_pairs(FILE *out, const char *key, const struct image_pair *pairs, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                store_document_put_text(out, key, pairs[i].name);
                fprintf(out, "=%s%c", pairs[i].value, '\0');
        }
}

char *image_write(const struct image *image, size_t *ret_len)
{
        char *text = NULL;
        FILE *out = open_memstream(&text, ret_len);
        if (!out)
                return NULL;
        fwrite(IMAGE_META_VERSION, 1, sizeof IMAGE_META_VERSION, out);
        store_document_put_text(out, "id", image->id);
        store_document_put_text(out, "digest", image->digest);
        store_document_put_text(out, "platform", image->platform);
        store_document_put_text(out, "source", image->source);
        store_document_put_number(out, "created_ms", image->created_ms);
        store_document_put_number(out, "bytes", image->bytes);
        store_document_put_number(out, "files", image->files);
        store_document_put_list(out, "layer", image->layers);
        store_document_put_list(out, "env", image->env);
        store_document_put_text(out, "cwd", image->cwd);
        store_document_put_text(out, "user", image->user);
        store_document_put_number(out, "uid", image->uid);
        store_document_put_number(out, "gid", image->gid);
        store_document_put_list(out, "entrypoint", image->entrypoint);
        store_document_put_list(out, "cmd", image->cmd);
        put_pairs(out, "label", image->labels, image->n_labels);
        put_pairs(out, "runtime", image->runtimes, image->n_runtimes);
        const bool failed = ferror(out) != 0;
        if (fclose(out) == 0 && !failed)
                return text;
        free(text);
        return NULL;
}
