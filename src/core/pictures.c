#include "core/pictures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/utf8.h"
#include "core/sandbox/operation.h"

#define SVG_START_MAX 1024 /* <svg must be in these first bytes: a comment or a DOCTYPE may be before it */

struct pictures {
        struct core_sandbox *sandbox;
        const struct cella_file *files;
        size_t n_files, at; /* files[at - 1] is being read */
        struct operation *operation;
        char *data; /* struct init_stat, then the file */
        size_t len, size;
        size_t bytes; /* of the pictures that were read */
        unsigned n;
        bool left_out;
        struct mask *mask;
        const struct pictures_events *events;
        void *context;
};

static bool has_name_of_picture(const char *path)
{
        static const char *const endings[] = {".png", ".jpg", ".jpeg", ".svg"};
        const char *dot = strrchr(path, '.');
        for (size_t i = 0; dot && i < ARRAY_LEN(endings); i++)
                if (!strcasecmp(dot, endings[i]))
                        return true;
        return false;
}

static bool is_svg(const char *data, size_t len)
{
        const size_t start = len < SVG_START_MAX ? len : SVG_START_MAX;
        for (size_t at = 0, n; at < len; at += n)
                if (data[at] == '\0' || (n = utf8_len(data + at, len - at)) == 0)
                        return false;
        return memmem(data, start, "<svg", 4) != NULL;
}

/* Returns the type by the content; NULL: not a picture. */
static const char *mime_of(const char *data, size_t len)
{
        static const char png[] = "\x89PNG\r\n\x1a\n", jpeg[] = "\xff\xd8\xff";
        if (len >= sizeof png - 1 && !memcmp(data, png, sizeof png - 1))
                return "image/png";
        if (len >= sizeof jpeg - 1 && !memcmp(data, jpeg, sizeof jpeg - 1))
                return "image/jpeg";
        return is_svg(data, len) ? "image/svg+xml" : NULL;
}

/* Base64, except for SVG, which is text; as the results of contexts. */
static char *to_json(struct pictures *p, const char *mime, char *data, size_t len, size_t *ret_len)
{
        char *text = NULL;
        struct json j = {.out = open_memstream(&text, ret_len)};
        if (!j.out)
                return NULL;
        json_put_open(&j, NULL, '{');
        json_put_string(&j, "mime", mime);
        if (strcmp(mime, "image/svg+xml") == 0)
                json_put_bytes(&j, "data", data, p->mask ? mask_text(p->mask, data, len) : len);
        else
                json_put_base64(&j, "data", data, len);
        json_put_bool(&j, "main", false);
        json_put_number(&j, "value", PICTURES_VALUE + p->n);
        json_put_string(&j, "path", p->files[p->at - 1].path);
        json_put_close(&j, '}');
        fclose(j.out);
        return text;
}

/* A file with the name of a picture that is none is not a result, and nothing is left out. */
static void pictures_take(struct pictures *p)
{
        const size_t head = sizeof(struct init_stat);
        const char *mime = p->len > head ? mime_of(p->data + head, p->len - head) : NULL;
        size_t len = 0;
        if (!mime)
                return;
        char *json = to_json(p, mime, p->data + head, p->len - head, &len);
        if (!json) {
                p->left_out = true;
                return;
        }
        p->bytes += p->len - head;
        p->n++;
        p->events->on_picture(p->context, json, len);
}

static void on_data(struct operation *op, const char *data, size_t len, void *context)
{
        struct pictures *p = context;
        (void)op;
        if (p->len + len > sizeof(struct init_stat) + PICTURE_BYTES_MAX)
                len = sizeof(struct init_stat) + PICTURE_BYTES_MAX -
                      p->len; /* init sent more than asked for */
        if (p->len + len > p->size) {
                const size_t size = 2 * (p->len + len);
                char *grown = realloc(p->data, size);
                if (!grown)
                        return;
                p->data = grown;
                p->size = size;
        }
        memcpy(p->data + p->len, data, len);
        p->len += len;
}

static bool pictures_begin(struct pictures *p);

static void pictures_on_end(struct operation *op, const struct cella_err *err, void *context)
{
        struct pictures *p = context;
        struct init_stat st = {0};
        (void)op;
        p->operation = NULL;
        if (p->len >= sizeof st)
                memcpy(&st, p->data, sizeof st);
        if (err || p->len < sizeof st || p->len - sizeof st != st.bytes)
                p->left_out = true; /* also a file that grows meanwhile */
        else
                pictures_take(p);
        if (!pictures_begin(p))
                p->events->on_end(p->context, p->left_out);
}

/* Starts to read the next file with the name of a picture.  Returns false if there is none. */
static bool pictures_begin(struct pictures *p)
{
        static const struct operation_events events = {.on_data = on_data, .on_end = pictures_on_end};
        const struct init_operate what = {.operation = INIT_READ, .length = PICTURE_BYTES_MAX};
        while (p->at < p->n_files) {
                const struct cella_file *f = &p->files[p->at++];
                struct cella_err err = {0};
                if (!has_name_of_picture(f->path))
                        continue;
                p->len = 0;
                if (p->n < PICTURES_MAX && f->bytes <= PICTURE_BYTES_MAX &&
                    p->bytes + f->bytes <= PICTURES_BYTES_MAX && sandbox_takes_messages(p->sandbox) &&
                    operation_new(p->sandbox, &what, f->path, NULL, &events, p, &p->operation, &err) == 0)
                        return true;
                p->left_out = true;
        }
        return false;
}

struct pictures *pictures_new(struct core_sandbox *sb, const struct cella_file *files, size_t n,
                              struct mask *mask, const struct pictures_events *events, void *context)
{
        struct pictures *p = calloc(1, sizeof *p);
        if (!p)
                return NULL;
        *p = (struct pictures){.sandbox = sb,
                               .files = files,
                               .n_files = n,
                               .mask = mask,
                               .events = events,
                               .context = context};
        return pictures_begin(p) ? p : pictures_free(p);
}

struct pictures *pictures_free(struct pictures *p)
{
        if (!p)
                return NULL;
        if (p->operation)
                operation_cancel(p->operation);
        free(p->data);
        free(p);
        return NULL;
}
