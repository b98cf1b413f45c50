#include "wire/imager.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/foreign_json.h"
#include "base/json.h"
#include "base/utf8.h"
#include "sys/rights.h"

#define VALUES_MAX 8192 /* per line */

static const char *const phases[] = {[IMAGER_DOWNLOAD] = "download", [IMAGER_UNPACK] = "unpack"};

const char *imager_phase_name(enum imager_phase phase)
{
        return (size_t)phase < ARRAY_LEN(phases) ? phases[phase] : "?";
}

/* ---- events ---- */

/* Copies as many whole characters as fit.  Replaces control characters by '?'. */
static void copy_text(char *ret, size_t size, const char *text)
{
        size_t at = 0, left = text ? strlen(text) : 0;
        while (left > 0) {
                size_t n = utf8_len(text, left);
                uint32_t c = n ? utf8_get(text, n) : 0;
                bool good = n && c >= ' ' && (c < 0x7f || c >= 0xa0);
                size_t put = good ? n : 1;
                if (at + put >= size)
                        break;
                if (good)
                        memcpy(ret + at, text, n);
                else
                        ret[at] = '?';
                at += put;
                text += n ? n : 1;
                left -= n ? n : 1;
        }
        ret[at] = '\0';
}

static bool is_digest_text(const char *text)
{
        static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:._-";
        size_t len = text ? strlen(text) : 0;
        return text && len < IMAGER_LAYER_SIZE && strspn(text, good) == len;
}

static bool get_count(const json_t *object, const char *name, uint64_t *ret)
{
        int64_t value = 0;
        if (!json_object_get(object, name))
                return true;
        if (!foreign_json_get_integer(object, name, &value) || value < 0)
                return false;
        *ret = (uint64_t)value;
        return true;
}

static int parse_progress(const json_t *root, struct imager_event *ret)
{
        const char *layer = foreign_json_get_text(root, "layer"),
                   *phase = foreign_json_get_text(root, "phase");
        ret->type = IMAGER_PROGRESS;
        if (!is_digest_text(layer) || !phase || !get_count(root, "done", &ret->done) ||
            !get_count(root, "total", &ret->total))
                return -EPROTO;
        snprintf(ret->layer, sizeof ret->layer, "%s", layer);
        for (size_t i = 0; i < ARRAY_LEN(phases); i++)
                if (!strcmp(phase, phases[i])) {
                        ret->phase = (enum imager_phase)i;
                        return 0;
                }
        return -EPROTO;
}

static int add_image(const char *id, struct imager_event *ret)
{
        if (!id || strlen(id) != IMAGER_ID_SIZE - 1 || strspn(id, "0123456789abcdef") != IMAGER_ID_SIZE - 1)
                return -EPROTO;
        for (unsigned i = 0; i < ret->n_images; i++)
                if (!strcmp(ret->images[i], id))
                        return 0;
        if (ret->n_images < IMAGER_IMAGES_MAX)
                memcpy(ret->images[ret->n_images++], id, IMAGER_ID_SIZE);
        return 0;
}

static int parse_done(const json_t *root, struct imager_event *ret)
{
        const json_t *image = json_object_get(root, "image"), *images = json_object_get(root, "images");
        int r = 0;
        ret->type = IMAGER_DONE;
        if (!get_count(root, "layers", &ret->layers) || !get_count(root, "roots", &ret->roots) ||
            !get_count(root, "bytes", &ret->bytes))
                return -EPROTO;
        ret->removed = json_is_true(json_object_get(root, "removed"));
        if (!foreign_json_is_absent(root, "image"))
                r = add_image(foreign_json_get_text(image, "id"), ret);
        if (json_is_number(images) && !get_count(root, "images", &ret->gone))
                return -EPROTO;
        for (size_t i = 0; i < json_array_size(images) && r == 0; i++)
                r = add_image(foreign_json_text(json_array_get(images, i)), ret);
        return r;
}

/* Error kinds that an archive or a registry can cause.  cella-image cannot make a request "unauthorized". */
static enum cella_kind kind_of(const char *word)
{
        static const enum cella_kind kinds[] = {
                CELLA_INVALID_REQUEST, CELLA_NOT_FOUND,     CELLA_TOO_LARGE,     CELLA_ENGINE_UNAVAILABLE,
                CELLA_INTERNAL,        CELLA_ACCESS_DENIED, CELLA_OVER_CAPACITY, CELLA_ISOLATION_UNAVAILABLE};
        for (size_t i = 0; word && i < ARRAY_LEN(kinds); i++)
                if (!strcmp(word, cella_kind_name(kinds[i])))
                        return kinds[i];
        return CELLA_ENGINE_UNAVAILABLE;
}

static int parse_failed(const json_t *root, struct imager_event *ret)
{
        const json_t *error = json_object_get(root, "error");
        const char *message = foreign_json_get_text(error, "message");
        ret->type = IMAGER_FAILED;
        if (!message)
                return -EPROTO;
        ret->err.kind = kind_of(foreign_json_get_text(error, "kind"));
        ret->err.num = -EIO;
        copy_text(ret->err.msg, sizeof ret->err.msg, message);
        copy_text(ret->err.hint, sizeof ret->err.hint, foreign_json_get_text(error, "hint"));
        return 0;
}

int imager_event_parse(const char *line, size_t len, struct imager_event *ret)
{
        AUTO(json_decref) json_t *root = foreign_json_parse(line, len, VALUES_MAX, 0, NULL);
        struct imager_event e = {0};
        int64_t id;
        const char *event = foreign_json_get_text(root, "event");
        if (!event || !foreign_json_get_integer(root, "id", &id) || id <= 0)
                return -EPROTO;
        e.id = (uint64_t)id;
        int r = !strcmp(event, "progress") ? parse_progress(root, &e)
                : !strcmp(event, "done")   ? parse_done(root, &e)
                : !strcmp(event, "failed") ? parse_failed(root, &e)
                                           : -EPROTO;
        if (r == 0)
                *ret = e;
        return r;
}

/* ---- requests ---- */

struct line {
        struct json j;
        char *text;
        size_t len;
};

static void put_head(struct line *l, uint64_t id, const char *op)
{
        json_put_open(&l->j, NULL, '{');
        json_put_number(&l->j, "id", id);
        json_put_string(&l->j, "op", op);
}

static int wire_imager_begin(struct line *l, uint64_t id, const char *op)
{
        *l = (struct line){0};
        l->j.out = open_memstream(&l->text, &l->len);
        if (!l->j.out)
                return -ENOMEM;
        put_head(l, id, op);
        return 0;
}

static void wire_imager_put_text(struct line *l, const char *key, const char *text)
{
        if (text)
                json_put_string(&l->j, key, text);
        else
                json_put_null(&l->j, key);
}

static void put_object(struct line *l, const char *key, const char *json)
{
        if (json)
                json_put_raw(&l->j, key, json, strlen(json));
        else
                json_put_null(&l->j, key);
}

static int wire_imager_finish(struct line *l, char **ret, size_t *ret_len)
{
        json_put_close(&l->j, '}');
        fputc('\n', l->j.out);
        bool bad = ferror(l->j.out);
        if (fclose(l->j.out) != 0 || bad || l->len > IMAGER_LINE_MAX) {
                int r = l->text && l->len > IMAGER_LINE_MAX ? -E2BIG : -ENOMEM;
                free(l->text);
                return r;
        }
        *ret = l->text;
        *ret_len = l->len;
        return 0;
}

/* The line may contain a password.  The buffer never moves and stdio does not buffer, so that the only copy
 * is the one that the caller gets and wipes. */
int imager_write_pull(uint64_t id, const struct imager_pull *pull, char **ret, size_t *ret_len)
{
        struct line l = {.text = calloc(1, IMAGER_LINE_MAX + 1)};
        l.j.out = l.text ? fmemopen(l.text, IMAGER_LINE_MAX + 1, "w") : NULL;
        if (!l.j.out) {
                free(l.text);
                return -ENOMEM;
        }
        setvbuf(l.j.out, NULL, _IONBF, 0);
        put_head(&l, id, "pull");
        json_put_string(&l.j, "ref", pull->ref);
        wire_imager_put_text(&l, "platform", pull->platform);
        json_put_bool(&l.j, "insecure", pull->insecure);
        put_object(&l, "credentials", pull->credentials);
        json_put_close(&l.j, '}');
        fputc('\n', l.j.out);
        bool bad = ferror(l.j.out);
        if (fclose(l.j.out) != 0 || bad) {
                explicit_bzero(l.text, IMAGER_LINE_MAX + 1);
                free(l.text);
                return -E2BIG;
        }
        *ret = l.text;
        *ret_len = strlen(l.text);
        return 0;
}

int imager_write_import(uint64_t id, const struct imager_import *import, char **ret, size_t *ret_len)
{
        struct line l;
        if (wire_imager_begin(&l, id, "import") < 0)
                return -ENOMEM;
        wire_imager_put_text(&l, "name", import->name);
        json_put_string(&l.j, "source", import->source);
        put_object(&l, "config", import->config);
        return wire_imager_finish(&l, ret, ret_len);
}

int imager_write_remove(uint64_t id, const char *name, char **ret, size_t *ret_len)
{
        struct line l;
        if (wire_imager_begin(&l, id, "rm") < 0)
                return -ENOMEM;
        json_put_string(&l.j, "name", name);
        return wire_imager_finish(&l, ret, ret_len);
}

int imager_write_gc(uint64_t id, char **ret, size_t *ret_len)
{
        struct line l;
        if (wire_imager_begin(&l, id, "gc") < 0)
                return -ENOMEM;
        return wire_imager_finish(&l, ret, ret_len);
}

static int write_number(uint64_t id, const char *op, const char *key, uint64_t value, char **ret,
                        size_t *ret_len)
{
        struct line l;
        if (wire_imager_begin(&l, id, op) < 0)
                return -ENOMEM;
        json_put_number(&l.j, key, value);
        return wire_imager_finish(&l, ret, ret_len);
}

int imager_write_bound(uint64_t id, uint64_t bytes, char **ret, size_t *ret_len)
{
        return write_number(id, "bound", "bytes", bytes, ret, ret_len);
}

int imager_write_cancel(uint64_t id, uint64_t target, char **ret, size_t *ret_len)
{
        return write_number(id, "cancel", "target", target, ret, ret_len);
}

int imager_send(int socket, const char *line, size_t len, int fd)
{
        long n = sys_rights_send(socket, line, len, &fd, fd >= 0, MSG_DONTWAIT);
        return n < 0 ? (int)n : (size_t)n == len ? 0 : -EAGAIN;
}

int imager_read(struct imager_reader *r, int socket, char **ret, size_t *ret_len)
{
        for (;;) {
                char *line = r->data + r->start, *newline = memchr(line, '\n', r->end - r->start);
                if (newline) {
                        *ret = line;
                        *ret_len = (size_t)(newline - line);
                        r->start += *ret_len + 1;
                        return 1;
                }
                if (r->start > 0) {
                        memmove(r->data, line, r->end - r->start);
                        r->end -= r->start;
                        r->start = 0;
                }
                if (r->end == sizeof r->data)
                        return -EPROTO;
                ssize_t n = recv(socket, r->data + r->end, sizeof r->data - r->end, MSG_DONTWAIT);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n == 0 ? 0 : -errno;
                r->end += (size_t)n;
        }
}

bool imager_has_line(const struct imager_reader *r)
{
        return memchr(r->data + r->start, '\n', r->end - r->start) != NULL;
}
