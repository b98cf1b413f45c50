#include "front/tools/brief.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_USUAL 60 /* bytes of JSON around the text of an entry of a list */

/* ---- text ---- */

/* The last character boundary at or before `at`. */
static size_t boundary(const char *text, size_t at)
{
        for (unsigned i = 0; i < 3 && at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80; i++)
                at--;
        return at;
}

char *brief_cut(const char *text, size_t len, size_t max, const char *where, size_t *ret_len)
{
        char line[200];
        const size_t head = boundary(text, max / 2), tail = boundary(text, len - max / 2);
        int n = snprintf(line, sizeof line, "\n[%zu bytes are omitted here%s%s]\n", tail - head,
                         where[0] ? "; the log has 64 KiB: " : "", where);
        size_t line_len = n > 0 && (size_t)n < sizeof line ? (size_t)n : strlen(line);
        char *cut = malloc(head + line_len + len - tail + 1);
        if (!cut)
                return NULL;
        memcpy(cut, text, head);
        memcpy(cut + head, line, line_len);
        memcpy(cut + head + line_len, text + tail, len - tail);
        *ret_len = head + line_len + len - tail;
        cut[*ret_len] = '\0';
        return cut;
}

/* Each stream may have half of the room, and what the other one leaves. */
static int brief_output(const struct cella_result *r, struct brief *b)
{
        static const char *const names[] = {"stdout", "stderr"};
        for (int i = 0; i < 2; i++) {
                const size_t len = r->output_len[i], other = r->output_len[!i], half = b->max / 2;
                const size_t max = other < half ? b->max - other : half;
                char where[100] = "";
                if (len <= max)
                        continue;
                if (b->logged)
                        snprintf(where, sizeof where, "cella://executions/%s/%s", r->id, names[i]);
                b->owned[i] = brief_cut(r->output[i], len, max, where, &b->result.output_len[i]);
                if (!b->owned[i])
                        return -ENOMEM;
                b->result.output[i] = b->owned[i];
                b->result.output_truncated[i] = true;
        }
        return 0;
}

/* ---- lists ---- */

/* Returns how many of n entries fit into `room` bytes. */
static size_t fitting_files(const struct cella_file *files, size_t n, size_t room)
{
        size_t i = 0;
        for (size_t used = 0; i < n; i++)
                if ((used += strlen(files[i].path) + ENTRY_USUAL) > room)
                        break;
        return i;
}

static size_t fitting_violations(const struct cella_violation *all, size_t n, size_t room)
{
        size_t i = 0;
        for (size_t used = 0; i < n; i++)
                if ((used += strlen(all[i].target) + strlen(all[i].detail) + ENTRY_USUAL) > room)
                        break;
        return i;
}

static void brief_lists(const struct cella_result *r, struct brief *b)
{
        b->result.n_files = fitting_files(r->files, r->n_files, b->max / 4);
        if (b->result.n_files < r->n_files)
                b->result.files_truncated = true;
        b->result.n_violations = fitting_violations(r->violations, r->n_violations, b->max / 4);
}

/* ---- values ---- */

static const char *brief_text_of(const json_t *o, const char *name)
{
        return json_string_value(json_object_get(o, name));
}

static bool is_image(const char *mime)
{
        return mime && !strncmp(mime, "image/", 6);
}

/* Formats that every client shows.  SVG is not among them. */
static bool is_picture(const char *mime)
{
        return mime && (!strcmp(mime, "image/png") || !strcmp(mime, "image/jpeg"));
}

static bool is_clumsy(const char *mime)
{
        return mime && (!strcmp(mime, "text/html") || !strcmp(mime, "image/svg+xml"));
}

/* Whether another form of the same value says it better. */
static bool has_better_form(json_t *const *all, size_t n, size_t i)
{
        const json_t *number = json_object_get(all[i], "value");
        for (size_t k = 0; k < n && number && is_clumsy(brief_text_of(all[i], "mime")); k++) {
                const char *mime = brief_text_of(all[k], "mime");
                if (json_equal(json_object_get(all[k], "value"), number) && mime &&
                    (!strcmp(mime, "text/plain") || is_picture(mime)))
                        return true;
        }
        return false;
}

/* Moves a picture out of the value.  One too many is dropped, because base64 means nothing to a model. */
static void take_picture(json_t *value, struct tool_result *ret)
{
        const json_t *data = json_object_get(value, "data");
        struct tool_image *image = &ret->images[ret->n_images];
        if (is_picture(brief_text_of(value, "mime")) && ret->n_images < TOOL_IMAGES_MAX &&
            json_is_string(data)) {
                image->mime = strdup(brief_text_of(value, "mime"));
                image->data = strdup(json_string_value(data));
                if (image->mime && image->data) {
                        /* the text is the first content */
                        json_object_set_new(value, "content", json_integer(++ret->n_images));
                } else {
                        free(image->mime);
                        free(image->data);
                        *image = (struct tool_image){0};
                }
        }
        if (!json_object_get(value, "content"))
                json_object_set_new(value, "omitted_bytes",
                                    json_integer((json_int_t)json_string_length(data)));
        json_object_del(value, "data");
}

static int shorten_member(json_t *object, const char *name, size_t max)
{
        const json_t *was = json_object_get(object, name);
        size_t len = json_string_length(was);
        if (len <= max)
                return 0;
        char *cut = brief_cut(json_string_value(was), len, max, "", &len);
        json_t *shorter = cut ? json_stringn(cut, len) : NULL;
        free(cut);
        return shorter && json_object_set_new(object, name, shorter) == 0 ? 0 : -ENOMEM;
}

static int shorten_value(json_t *value, struct tool_result *ret_images, struct brief *b)
{
        const size_t len = json_string_length(json_object_get(value, "data"));
        if (is_image(brief_text_of(value, "mime"))) {
                take_picture(value, ret_images);
                return 0;
        }
        const size_t max = b->max / 4 < b->room ? b->max / 4 : b->room;
        b->room -= len < max ? len : max;
        return shorten_member(value, "data", max);
}

static int brief_value(json_t *value, const char *was, size_t was_len, struct tool_result *ret_images,
                       struct brief *b)
{
        const size_t n = b->run.n_results;
        int r = json_is_object(value) ? shorten_value(value, ret_images, b) : 0;
        b->values[n] = r == 0 && json_is_object(value) ? json_dumps(value, JSON_COMPACT) : NULL;
        if (r < 0 || (json_is_object(value) && !b->values[n]))
                return -ENOMEM;
        b->texts[n] = b->values[n] ? b->values[n] : was;
        b->lens[n] = b->values[n] ? strlen(b->values[n]) : was_len;
        b->run.n_results++;
        return 0;
}

static int brief_values(const struct result_run *run, struct tool_result *ret_images, struct brief *b)
{
        const size_t n = run->n_results;
        json_t **all = calloc(n + 1, sizeof(json_t *));
        b->values = calloc(n + 1, sizeof *b->values);
        b->texts = calloc(n + 1, sizeof *b->texts);
        b->lens = calloc(n + 1, sizeof *b->lens);
        int r = all && b->values && b->texts && b->lens ? 0 : -ENOMEM;
        for (size_t i = 0; i < n && r == 0; i++)
                all[i] = json_loadb(run->results[i], run->result_lens[i], JSON_ALLOW_NUL, NULL);
        b->run.n_results = 0;
        for (size_t i = 0; i < n && r == 0; i++)
                if (!has_better_form(all, n, i))
                        r = brief_value(all[i], run->results[i], run->result_lens[i], ret_images, b);
        for (size_t i = 0; i < n && all; i++)
                json_decref(all[i]);
        free(all);
        b->run.results = b->texts;
        b->run.result_lens = b->lens;
        return r;
}

/* ---- the exception ---- */

static bool is_in_stderr(const struct cella_result *r, const char *text, size_t len)
{
        while (len > 0 && text[len - 1] == '\n')
                len--;
        return len > 0 && r->output_len[CELLA_STDERR] >= len &&
               memmem(r->output[CELLA_STDERR], r->output_len[CELLA_STDERR], text, len);
}

static int brief_error(const struct cella_result *r, const struct result_run *run, struct brief *b)
{
        json_t *error = run->error ? json_loadb(run->error, run->error_len, JSON_ALLOW_NUL, NULL) : NULL;
        const json_t *traceback = json_object_get(error, "traceback");
        if (!error)
                return 0;
        if (traceback && is_in_stderr(r, json_string_value(traceback), json_string_length(traceback)))
                json_object_del(error, "traceback");
        int e = shorten_member(error, "name", b->max / 8);
        if (e == 0)
                e = shorten_member(error, "message", b->max / 8);
        if (e == 0)
                e = shorten_member(error, "traceback", b->max / 4);
        b->error = e == 0 ? json_dumps(error, JSON_COMPACT) : NULL;
        json_decref(error);
        if (!b->error)
                return -ENOMEM;
        b->run.error = b->error;
        b->run.error_len = strlen(b->error);
        return 0;
}

int brief_make(const struct cella_result *r, const struct result_run *run, bool logged, size_t max,
               struct tool_result *ret_images, struct brief *ret)
{
        *ret = (struct brief){.result = *r,
                              .run = run ? *run : (struct result_run){0},
                              .logged = logged,
                              .max = max,
                              .room = max};
        int e = brief_output(r, ret);
        brief_lists(r, ret);
        if (e == 0 && run)
                e = brief_values(run, ret_images, ret);
        if (e == 0 && run)
                e = brief_error(r, run, ret);
        if (e < 0)
                brief_done(ret);
        return e;
}

/* JSON needs more bytes than the output in it: up to six for one character. */
size_t brief_less(size_t max, size_t len, size_t most)
{
        const size_t less = max * 7 / 8, fitting = len > 0 ? max * most / len : max;
        return len <= most || max < BRIEF_MIN ? 0 : fitting < less ? fitting : less;
}

void brief_done(struct brief *b)
{
        for (size_t i = 0; b->values && i < b->run.n_results; i++)
                free(b->values[i]);
        free(b->values);
        free(b->texts);
        free(b->lens);
        free(b->error);
        free(b->owned[0]);
        free(b->owned[1]);
        *b = (struct brief){0};
}
