/* front/rest/images.c -- the list of images, and the jobs that change it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "core/image/images.h"
#include "front/rest/rest.h"
#include "front/sse.h"
#include "image/store/store.h"

const struct field *image_pull_fields(void)
{
        static const struct field fields[] = {
                {.name = "pull",
                 .type = FIELD_STRING,
                 .flags = FIELD_REQUIRED | FIELD_NO_NUL,
                 .min = 1,
                 .max = 512,
                 .help = "reference of the image: python:3.12-slim, ghcr.io/owner/name@sha256:..."},
                {.name = "platform",
                 .type = FIELD_STRING,
                 .flags = FIELD_NULLABLE | FIELD_NO_NUL,
                 .min = 1,
                 .max = 64,
                 .help = "os/architecture, if the image has several; null: that of this machine"},
                {.name = "insecure",
                 .type = FIELD_BOOLEAN,
                 .help = "use no TLS; only for registries in the setting images.insecure_registries"},
                {0}};
        return fields;
}

/* ---- the list ---- */

struct text {
        struct json j;
        char *data;
        size_t len;
};

static bool text_begin(struct text *t)
{
        *t = (struct text){0};
        t->j.out = open_memstream(&t->data, &t->len);
        return t->j.out != NULL;
}

static void text_reply(struct call *call, struct text *t, int status)
{
        if (fclose(t->j.out) == 0)
                api_reply_text(call, status, t->data, t->len);
        else
                free(t->data);
}

void rest_image_list(struct call *call, json_t *body)
{
        struct cella_err err = {0};
        const struct image_shelf *shelf;
        struct text t;
        (void)body;
        if (images_all(call->core, &shelf, &err) < 0) {
                api_reply_err(call, &err);
                return;
        }
        if (text_begin(&t)) {
                json_put_open(&t.j, NULL, '{');
                json_put_open(&t.j, "images", '[');
                for (size_t i = 0; i < shelf->n; i++)
                        image_put_brief(&t.j, NULL, shelf->images[i]);
                json_put_close(&t.j, ']');
                json_put_close(&t.j, '}');
                text_reply(call, &t, 200);
        }
}

static int rest_images_find(struct call *call, const char *name, struct image **ret, struct cella_err *err)
{
        int r = image_find(call->core->store, name, ret, err);
        return r < 0 ? r : image_load_names(call->core->store, *ret, err);
}

void rest_image_get(struct call *call, json_t *body)
{
        AUTO(image_free) struct image *image = NULL;
        struct cella_err err = {0};
        struct text t;
        (void)body;
        if (rest_images_find(call, http_param(call->request, 0), &image, &err) < 0) {
                api_reply_err(call, &err);
        } else if (text_begin(&t)) {
                image_put(&t.j, NULL, image);
                text_reply(call, &t, 200);
        }
}

json_t *rest_images_json(const struct core *core)
{
        struct images_stat stat;
        images_stat(core, &stat);
        return json_pack("{s:I, s:I, s:i}", "images", (json_int_t)stat.images, "bytes",
                         (json_int_t)stat.bytes, "jobs", (int)stat.jobs);
}

/* ---- jobs ---- */

struct working {
        struct call *call;
        struct image_wait *wait;
        struct sse sse;
        bool streams; /* the client gets events */
        bool reads;   /* the body is an archive */
        bool fed;     /* the whole body has arrived */
};

static void rest_images_release(struct working *w)
{
        http_on_gone(w->call->request, NULL, NULL);
        free(w);
}

static void rest_images_on_gone(struct http_request *request, void *context)
{
        struct working *w = context;
        (void)request;
        if (w->streams)
                sse_forget(&w->sse);
        image_wait_cancel(w->wait);
        free(w);
}

/* Progress events are dropped if there is no room. */
static void on_progress(struct image_wait *wait, const struct imager_event *e, void *context)
{
        struct working *w = context;
        (void)wait;
        if (w->streams && http_stream_room(w->call->request) > HTTP_STREAM_MAX / 2)
                sse_event(&w->sse, "progress",
                          json_pack("{s:s, s:s, s:I, s:I}", "layer", e->layer, "phase",
                                    imager_phase_name(e->phase), "done", (json_int_t)e->done, "total",
                                    (json_int_t)e->total));
}

/* Returns the document of the image; if an archive had several, also the ids of the others. */
static json_t *image_json(struct call *call, const struct imager_event *end, struct cella_err *err)
{
        AUTO(image_free) struct image *image = NULL;
        struct text t;
        if (end->n_images == 0) {
                err_say(err, CELLA_INTERNAL, -EPROTO, "cella-image did not report the id of the image");
                return NULL;
        }
        if (rest_images_find(call, end->images[0], &image, err) < 0)
                return NULL;
        if (!text_begin(&t))
                return NULL;
        image_put(&t.j, NULL, image);
        fclose(t.j.out);
        json_t *o = json_loadb(t.data, t.len, 0, NULL);
        free(t.data);
        if (!o)
                err_say(err, CELLA_INTERNAL, -EINVAL, "the store has no valid document of the image");
        if (end->n_images > 1) {
                json_t *others = json_array();
                for (unsigned i = 1; i < end->n_images; i++)
                        json_array_append_new(others, json_string(end->images[i]));
                json_object_set_new(o, "others", others);
        }
        return o;
}

/* The archive has ended: the rest of the body is ignored. */
static ssize_t ignore_body(struct http_request *request, const char *data, size_t len, void *context)
{
        (void)request, (void)data, (void)len, (void)context;
        return -1;
}

static void rest_images_finish(struct working *w, json_t *answer, int status, const struct cella_err *err)
{
        struct call *call = w->call;
        if (w->reads && !w->fed && !err) {
                http_body_read(call->request, ignore_body, NULL);
                http_body_resume(call->request);
        }
        if (w->streams) {
                sse_event(&w->sse, err ? "error" : "done", err ? api_error(call, err) : answer);
                sse_end(&w->sse);
        } else if (err) {
                api_reply_err(call, err);
        } else if (answer) {
                api_reply(call, status, answer);
        } else {
                api_reply_nothing(call);
        }
        rest_images_release(w);
}

static void on_made(struct image_wait *wait, const struct imager_event *end, const struct cella_err *err,
                    void *context)
{
        struct working *w = context;
        struct cella_err bad = {0};
        json_t *answer = NULL;
        (void)wait;
        if (!err && !(answer = image_json(w->call, end, &bad)))
                err = &bad;
        if (!err)
                w->call->api->log("info", "an image was added", "image", end->images[0]);
        rest_images_finish(w, answer, 201, err);
}

static void on_removed(struct image_wait *wait, const struct imager_event *end, const struct cella_err *err,
                       void *context)
{
        struct working *w = context;
        (void)wait, (void)end;
        if (!err)
                w->call->api->log("info", "an image was removed", "image", http_param(w->call->request, 0));
        rest_images_finish(w, NULL, 204, err);
}

static void on_collected(struct image_wait *wait, const struct imager_event *end, const struct cella_err *err,
                         void *context)
{
        json_t *answer = err ? NULL
                             : json_pack("{s:I, s:I, s:I}", "layers", (json_int_t)end->layers, "roots",
                                         (json_int_t)end->roots, "bytes", (json_int_t)end->bytes);
        (void)wait;
        rest_images_finish(context, answer, 200, err);
}

static ssize_t rest_images_on_body(struct http_request *request, const char *data, size_t len, void *context)
{
        struct working *w = context;
        (void)request;
        if (data)
                return (ssize_t)image_feed(w->wait, data, len);
        w->fed = true;
        image_feed_end(w->wait);
        return 0;
}

static void rest_images_on_room(struct image_wait *wait, void *context)
{
        struct working *w = context;
        (void)wait;
        http_body_resume(w->call->request);
}

static const struct image_events made_events = {on_progress, rest_images_on_room, on_made};
static const struct image_events removed_events = {.on_end = on_removed};
static const struct image_events collected_events = {.on_end = on_collected};

static struct working *working_new(struct call *call)
{
        struct working *w = calloc(1, sizeof *w);
        struct cella_err err = {0};
        if (w) {
                w->call = call;
                return w;
        }
        err_set(&err, CELLA_INTERNAL, -ENOMEM, "images");
        api_reply_err(call, &err);
        return NULL;
}

/* r: result of starting the job. */
static void go(struct working *w, int r, const struct cella_err *err, bool may_stream)
{
        struct call *call = w->call;
        if (r < 0) {
                api_reply_err(call, err);
                free(w);
                return;
        }
        w->streams = may_stream && api_wants_events(call);
        if (w->streams)
                sse_begin(&w->sse, call, false);
        http_on_gone(call->request, rest_images_on_gone, w);
}

void rest_image_pull(struct call *call, json_t *body)
{
        const struct image_pull pull = {.ref = json_string_value(json_object_get(body, "pull")),
                                        .platform = json_string_value(json_object_get(body, "platform")),
                                        .insecure = json_is_true(json_object_get(body, "insecure"))};
        struct cella_err err = {0};
        struct working *w = working_new(call);
        if (w)
                go(w, image_pull(call->core, &call->caller, &pull, &made_events, w, &w->wait, &err), &err,
                   true);
        json_decref(body);
}

void rest_image_import(struct call *call, json_t *body)
{
        struct cella_err err = {0};
        struct working *w = working_new(call);
        (void)body;
        if (!w)
                return;
        struct http_request *request = call->request;
        int r = image_import(call->core, &call->caller, http_query(request, "name"), &made_events, w,
                             &w->wait, &err);
        w->reads = true;
        go(w, r, &err, false);
        if (r == 0)
                http_body_read(request, rest_images_on_body, w);
}

void rest_image_remove(struct call *call, json_t *body)
{
        struct cella_err err = {0};
        struct working *w = working_new(call);
        (void)body;
        if (w)
                go(w,
                   image_remove(call->core, &call->caller, http_param(call->request, 0), &removed_events, w,
                                &w->wait, &err),
                   &err, false);
}

void rest_image_collect(struct call *call, json_t *body)
{
        struct cella_err err = {0};
        struct working *w = working_new(call);
        (void)body;
        if (w)
                go(w, image_collect(call->core, &call->caller, &collected_events, w, &w->wait, &err), &err,
                   false);
}
