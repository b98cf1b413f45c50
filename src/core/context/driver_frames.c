#include "core/context/driver_frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/foreign_json.h"
#include "base/json.h"
#include "base/utf8.h"

#define VALUES_MAX 64 /* in one object; known ones have four members */
#define MIME_MAX 127
#define NAME_MAX_BYTES 256 /* maximum of the kept part of an error */
#define MESSAGE_MAX_BYTES (64u * 1024)
#define TRACEBACK_MAX_BYTES (256u * 1024)
#define KEPT_MAX (64u * 1024) /* a larger buffer is freed after the frame */

static const struct {
        const char *word;
        size_t max;
} words[DRIVER_WORDS] = {
        [DRIVER_READY] = {"ready", 0},
        [DRIVER_RESULT] = {"result", DRIVER_RESULT_MAX},
        [DRIVER_ERROR] = {"error", DRIVER_ERROR_MAX},
        [DRIVER_DONE] = {"done", 4096},
};

void driver_frames_done(struct driver_frames *f)
{
        free(f->body);
        *f = (struct driver_frames){0};
}

static void driver_frames_next(struct driver_frames *f)
{
        if (f->size > KEPT_MAX) {
                free(f->body);
                f->body = NULL;
                f->size = 0;
        }
        f->in_body = false;
        f->header_len = f->have = f->want = 0;
}

/* "result 123".  Only digits, so that a number has one form. */
static int read_header(struct driver_frames *f, unsigned may, const char **ret_why)
{
        const char *space = memchr(f->header, ' ', f->header_len);
        size_t word_len = space ? (size_t)(space - f->header) : 0, number = 0;
        const char *digit = space ? space + 1 : NULL, *end = f->header + f->header_len;
        int word = 0;
        while (word < DRIVER_WORDS &&
               (strlen(words[word].word) != word_len || memcmp(words[word].word, f->header, word_len) != 0))
                word++;
        *ret_why = "a message of an unknown kind";
        if (!digit || word == DRIVER_WORDS)
                return -EPROTO;
        *ret_why = "a message without a length";
        if (digit == end)
                return -EPROTO;
        for (; digit < end; digit++) {
                if (*digit < '0' || *digit > '9')
                        return -EPROTO;
                number = number * 10 + (size_t)(*digit - '0');
                *ret_why = "a message that is too long";
                if (number > words[word].max)
                        return -EPROTO;
                *ret_why = "a message without a length";
        }
        *ret_why = "an unexpected message";
        if (!(may & DRIVER_MAY(word)))
                return -EPROTO;
        f->word = (enum driver_word)word;
        f->want = number;
        f->in_body = true;
        return 0;
}

static int driver_frames_take_header(struct driver_frames *f, unsigned may, const char **data, size_t *len,
                                     const char **ret_why)
{
        while (*len > 0) {
                char c = **data;
                ++*data;
                --*len;
                if (c == '\n')
                        return read_header(f, may, ret_why);
                *ret_why = "a first line that is too long";
                if (f->header_len == sizeof f->header)
                        return -EPROTO;
                f->header[f->header_len++] = c;
        }
        return 0;
}

static int driver_frames_make_room(struct driver_frames *f, size_t n)
{
        if (n == 0 || f->have + n <= f->size)
                return 0;
        size_t need = f->have + n, size = need * 2 < f->want ? need * 2 : f->want;
        if (size < need)
                size = need;
        char *body = realloc(f->body, size ? size : 1);
        if (!body)
                return -ENOMEM;
        f->body = body;
        f->size = size;
        return 0;
}

int driver_frames_take(struct driver_frames *f, unsigned may, const char **data, size_t *len,
                       const char **ret_why)
{
        int r;
        if (f->in_body && f->have == f->want) /* the frame was already returned */
                driver_frames_next(f);
        if (!f->in_body && ((r = driver_frames_take_header(f, may, data, len, ret_why)) < 0 || !f->in_body))
                return r;
        size_t n = f->want - f->have < *len ? f->want - f->have : *len;
        *ret_why = "more than fits in memory";
        if ((r = driver_frames_make_room(f, n)) < 0)
                return r;
        if (n > 0)
                memcpy(f->body + f->have, *data, n);
        f->have += n;
        *data += n;
        *len -= n;
        return f->have == f->want;
}

/* ---- contents of the frames ---- */

static json_t *read_object(const char *body, size_t len)
{
        return len == 0 ? NULL : foreign_json_parse(body, len, VALUES_MAX, 0, NULL);
}

int driver_read_done(const char *body, size_t len, enum driver_status *ret_status, int *ret_exit_code)
{
        static const char *const names[] = {[DRIVER_OK] = "ok",
                                            [DRIVER_FAILED] = "error",
                                            [DRIVER_INTERRUPTED] = "interrupted",
                                            [DRIVER_EXIT] = "exit"};
        AUTO(json_decref) json_t *object = read_object(body, len);
        int64_t code = 0;
        const char *status = foreign_json_get_text(object, "status");
        foreign_json_get_integer(object, "exit_code", &code); /* a shell also reports one without exiting */
        for (size_t i = 0; status && i < ARRAY_LEN(names); i++)
                if (!strcmp(status, names[i])) {
                        *ret_status = (enum driver_status)i;
                        *ret_exit_code = (int)(code & 0xff);
                        return 0;
                }
        return -EPROTO;
}

static int driver_frames_finish(struct json *j, char **text)
{
        json_put_close(j, '}');
        bool failed = ferror(j->out);
        if (fclose(j->out) != 0 || failed) {
                free(*text);
                *text = NULL;
                return -ENOMEM;
        }
        return 0;
}

static bool is_mime(const char *text)
{
        if (!text || !text[0] || strlen(text) > MIME_MAX)
                return false;
        for (; *text; text++)
                if (*text <= ' ' || *text > '~')
                        return false;
        return true;
}

int driver_read_result(const char *body, size_t len, char **ret, size_t *ret_len)
{
        AUTO(json_decref) json_t *object = read_object(body, len);
        int64_t value = 0;
        const char *mime = foreign_json_get_text(object, "mime");
        const json_t *data = json_object_get(object, "data");
        bool numbered = foreign_json_get_integer(object, "value", &value);
        if (!is_mime(mime) || !json_is_string(data) || (numbered && value < 0))
                return -EPROTO;
        char *text = NULL;
        struct json j = {.out = open_memstream(&text, ret_len)};
        if (!j.out)
                return -ENOMEM;
        json_put_open(&j, NULL, '{');
        json_put_string(&j, "mime", mime);
        json_put_bytes(&j, "data", json_string_value(data), json_string_length(data));
        json_put_bool(&j, "main", json_is_true(json_object_get(object, "main")));
        if (numbered)
                json_put_number(&j, "value", (uint64_t)value);
        else
                json_put_null(&j, "value");
        int r = driver_frames_finish(&j, &text);
        *ret = text;
        return r;
}

/* Writes at most max bytes, in whole characters. */
static void put_cut(struct json *j, const char *name, const char *text, size_t len, size_t max)
{
        size_t at = 0, n;
        if (len > max) {
                while ((n = utf8_len(text + at, len - at)) > 0 && at + n <= max)
                        at += n;
                len = at;
        }
        json_put_bytes(j, name, text, len);
}

static int make_error(const char *const texts[3], const size_t lens[3], char **ret, size_t *ret_len)
{
        char *text = NULL;
        struct json j = {.out = open_memstream(&text, ret_len)};
        if (!j.out)
                return -ENOMEM;
        json_put_open(&j, NULL, '{');
        put_cut(&j, "name", texts[0], lens[0], NAME_MAX_BYTES);
        put_cut(&j, "message", texts[1], lens[1], MESSAGE_MAX_BYTES);
        put_cut(&j, "traceback", texts[2], lens[2], TRACEBACK_MAX_BYTES);
        int r = driver_frames_finish(&j, &text);
        *ret = text;
        return r;
}

int driver_read_error(const char *body, size_t len, char **ret, size_t *ret_len)
{
        static const char *const names[] = {"name", "message", "traceback"};
        AUTO(json_decref) json_t *object = read_object(body, len);
        const char *texts[3];
        size_t lens[3];
        for (int i = 0; i < 3; i++) {
                const json_t *value = json_object_get(object, names[i]);
                if (!json_is_string(value))
                        return -EPROTO;
                texts[i] = json_string_value(value);
                lens[i] = json_string_length(value);
        }
        return make_error(texts, lens, ret, ret_len);
}

int driver_make_error(const char *name, const char *message, char **ret, size_t *ret_len)
{
        const char *const texts[] = {name, message, ""};
        const size_t lens[] = {strlen(name), strlen(message), 0};
        return make_error(texts, lens, ret, ret_len);
}
