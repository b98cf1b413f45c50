/* image/registry/registry.c -- pulls an image: parses the request, gets the manifest, the configuration and
 * the layers.
 *
 * The request has "ref", "platform" (null: this machine's), "insecure", and "credentials":
 * {"username","password"}, {"identitytoken"}, or {"helper"}: the name of a credential helper, which is not
 * run.  "connect_ms" and "stall_ms" may be shorter than the defaults.
 *
 * Existing data is not fetched again: nothing if the manifest's digest is unchanged, and no layer that is in
 * the store.  The image exists when writer_commit() has succeeded. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/foreign_json.h"
#include "image/imager.h"
#include "image/registry/connect.h"
#include "image/registry/layers.h"
#include "image/unpack/digest.h"

#define LISTS_MAX 2 /* nesting of lists; none in use is deeper */

struct pull {
        struct imager_job *job;
        struct reference reference;
        char name[REFERENCE_SIZE];
        struct platform platform;
        struct download_rules rules;
        struct credentials credentials;
        struct writer *writer;
        struct session *session;
        struct manifest manifest;
        char digest[REFERENCE_DIGEST_SIZE]; /* of the object that the name refers to: a manifest or a list */
        char diffs[LAYERS_MAX][DIGEST_HEX + 1];
};

/* ---- the request ---- */

static int bad_field(struct cella_err *err, const char *field, const char *may_be)
{
        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s: %s", field, may_be);
}

/* Reads a text that can be part of a header; null and a missing member are allowed. */
static int take_text(const json_t *object, const char *name, char *ret, size_t size, struct cella_err *err)
{
        const json_t *v = json_object_get(object, name);
        const char *text = json_string_value(v);
        const size_t len = json_string_length(v);
        if (foreign_json_is_absent(object, name))
                return 0;
        if (!text || len >= size)
                return bad_field(err, name, "a text that is not as long");
        for (size_t i = 0; i < len; i++)
                if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
                        return bad_field(err, name, "a text without control characters");
        memcpy(ret, text, len + 1);
        return 0;
}

static int take_credentials(const json_t *request, struct credentials *ret, struct cella_err *err)
{
        const json_t *c = json_object_get(request, "credentials");
        if (foreign_json_is_absent(request, "credentials"))
                return 0;
        if (!json_is_object(c))
                return bad_field(err, "credentials", "an object or null");
        int e = take_text(c, "username", ret->username, sizeof ret->username, err);
        if (e == 0)
                e = take_text(c, "password", ret->password, sizeof ret->password, err);
        if (e == 0)
                e = take_text(c, "identitytoken", ret->identitytoken, sizeof ret->identitytoken, err);
        if (e == 0)
                e = take_text(c, "helper", ret->helper, sizeof ret->helper, err);
        if (e == 0 && strchr(ret->username, ':'))
                e = bad_field(err, "username", "a name without a colon");
        return e;
}

/* Times may be shorter than the default, but not longer. */
static int take_time(const json_t *request, const char *name, unsigned max, unsigned *ret,
                     struct cella_err *err)
{
        int64_t ms;
        if (!json_object_get(request, name))
                return 0;
        if (!foreign_json_get_integer(request, name, &ms) || ms < 1 || ms > max)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s: 1 to %u milliseconds", name, max);
        *ret = (unsigned)ms;
        return 0;
}

static int read_request(struct pull *p, struct cella_err *err)
{
        const json_t *request = p->job->request;
        const char *ref = foreign_json_get_text(request, "ref"),
                   *platform = foreign_json_get_text(request, "platform");
        char file[256];
        if (!ref)
                return bad_field(err, "ref", "the name of an image");
        int e = reference_parse(ref, &p->reference, err);
        if (e < 0)
                return e;
        reference_write(&p->reference, p->name);
        if (image_name_file(p->name, file) < 0) /* check it before the download */
                return bad_field(err, "ref", "a name that is not as long");
        platform_of_this_machine(&p->platform);
        if (platform)
                e = platform_parse(platform, &p->platform, err);
        if (e == 0)
                e = take_credentials(request, &p->credentials, err);
        if (e == 0)
                e = take_time(request, "connect_ms", DOWNLOAD_CONNECT_MS, &p->rules.connect_ms, err);
        if (e == 0)
                e = take_time(request, "stall_ms", DOWNLOAD_STALL_MS, &p->rules.stall_ms, err);
        p->rules.insecure = json_is_true(json_object_get(request, "insecure"));
        return e;
}

/* ---- existing images ---- */

/* Returns the image that has this name now, or NULL. */
static struct image *image_of_name(const struct pull *p)
{
        struct image *image = NULL;
        struct platform platform;
        struct cella_err ignored;
        if (image_find_at(p->job->store, NULL, p->name, &image, &ignored) < 0)
                return NULL;
        if (platform_parse(image->platform, &platform, &ignored) == 0 &&
            platform_equal(&platform, &p->platform))
                return image;
        return image_free(image);
}

/* Checks whether the name still refers to the same image.  This costs less than getting the manifest, also by
 * the registries' rate limits. */
static bool is_unchanged(struct pull *p, const struct image *image)
{
        AUTO(document_done) struct document head = {0};
        struct cella_err ignored;
        char path[DOWNLOAD_URL_MAX];
        if (!image->digest[0])
                return false;
        snprintf(path, sizeof path, "/v2/%s/manifests/%s", p->reference.repository, p->reference.tag);
        return session_get(p->session, path, "image", manifest_accept, 0, true, &head, &ignored) == 0 &&
               strcmp(head.said_digest, image->digest) == 0;
}

/* ---- manifest and configuration ---- */

static int mismatch(const struct pull *p, const char *what, const char *should, const char *is,
                    struct cella_err *err)
{
        err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                "%s sent another %s than %.19s: digest mismatch, it is %.19s", p->session->host, what, should,
                is);
        err_hint(err, "it was changed in transit, or the registry is broken: it was not used");
        return -EBADMSG;
}

/* Gets a manifest by tag or digest; size: the expected size, or 0. */
static int get_manifest(struct pull *p, const char *which, uint64_t size, struct document *ret,
                        struct cella_err *err)
{
        char path[DOWNLOAD_URL_MAX];
        snprintf(path, sizeof path, "/v2/%s/manifests/%s", p->reference.repository, which);
        int e = session_get(p->session, path, "image", manifest_accept, MANIFEST_MAX, false, ret, err);
        if (e < 0)
                return e;
        const char *should = digest_is_valid(which) ? which : ret->said_digest;
        if (should[0] && strcmp(should, ret->digest) != 0)
                return mismatch(p, "manifest", should, ret->digest, err);
        if (size > 0 && ret->len != size)
                return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                               "the manifest has %zu bytes, and not %llu as its list says", ret->len,
                               (unsigned long long)size);
        return 0;
}

static int find_manifest(struct pull *p, struct cella_err *err)
{
        AUTO(document_done) struct document document = {0};
        const char *which = p->reference.digest[0] ? p->reference.digest : p->reference.tag;
        struct descriptor next = {0};
        for (int depth = 0; depth <= LISTS_MAX; depth++) {
                int e = get_manifest(p, depth ? next.digest : which, next.size, &document, err);
                if (e < 0)
                        return e;
                if (depth == 0)
                        memcpy(p->digest, document.digest, sizeof p->digest);
                e = manifest_read(document.text, document.len, document.type, &p->platform, &p->manifest,
                                  err);
                if (e < 0 || p->manifest.kind == MANIFEST_IMAGE)
                        return e;
                next = p->manifest.chosen;
        }
        return err_say(err, CELLA_INVALID_REQUEST, -ELOOP, "the lists of the image are nested too deeply");
}

/* An image without a list is for one platform, which only its configuration contains. */
static int check_platform(const struct pull *p, const struct document *config, struct cella_err *err)
{
        char wanted[MANIFEST_PLATFORM_SIZE], there[MANIFEST_PLATFORM_SIZE];
        struct platform platform;
        int e = manifest_config_platform(config->text, config->len, &platform, err);
        if (e < 0 || platform_equal(&platform, &p->platform))
                return e;
        platform_write(&p->platform, wanted);
        platform_write(&platform, there);
        err_say(err, CELLA_NOT_FOUND, -ENOENT, "there is no image for %s under this name, only for: %s",
                wanted, there);
        err_hint(err, "another tag may have it; --platform pulls for another machine");
        return -ENOENT;
}

static int get_config(struct pull *p, struct document *ret, struct cella_err *err)
{
        const struct descriptor *d = &p->manifest.config;
        char path[DOWNLOAD_URL_MAX];
        size_t n = 0;
        snprintf(path, sizeof path, "/v2/%s/blobs/%s", p->reference.repository, d->digest);
        int e = session_get(p->session, path, "configuration", NULL, MANIFEST_CONFIG_MAX, false, ret, err);
        if (e < 0)
                return e;
        if (strcmp(ret->digest, d->digest) != 0)
                return mismatch(p, "configuration", d->digest, ret->digest, err);
        e = check_platform(p, ret, err);
        if (e == 0)
                e = writer_config_layers(ret->text, ret->len, p->diffs, &n, err);
        if (e == 0 && n != p->manifest.n_layers)
                return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                               "the image's configuration has %zu layers, and its manifest %u", n,
                               p->manifest.n_layers);
        return e;
}

/* ---- pull ---- */

static int registry_commit(struct pull *p, const struct document *config, struct image **ret,
                           struct cella_err *err)
{
        const char *const names[] = {p->name, NULL};
        struct image_parts parts = {
                .config = config->text,
                .config_len = config->len,
                .digest = p->digest,
                .names = names,
                .source = "pull",
        };
        int e = job_cancelled(p->job, err);
        return e < 0 ? e : writer_commit(p->writer, &parts, ret, err);
}

/* The image is unchanged: only returns it. */
static int registry_keep(const struct pull *p, struct image **image, struct image **ret,
                         struct cella_err *err)
{
        int e = image_load_names_at(p->job->store, *image, err);
        if (e == 0)
                *ret = TAKE(*image);
        return e;
}

static int registry_pull_image(struct pull *p, struct image **ret, struct cella_err *err)
{
        AUTO(image_free) struct image *before = image_of_name(p);
        AUTO(document_done) struct document config = {0};
        /* A digest always refers to the same image. */
        if (before && p->reference.digest[0] && strcmp(before->digest, p->reference.digest) == 0)
                return registry_keep(p, &before, ret, err);
        int e = registry_session_new(p->job, &p->reference, &p->rules, &p->credentials, &p->session, err);
        if (e < 0)
                return e;
        if (before && !p->reference.digest[0] && is_unchanged(p, before))
                return registry_keep(p, &before, ret, err);
        e = find_manifest(p, err);
        if (e < 0)
                return e;
        if (before && strcmp(before->id, digest_hex(p->manifest.config.digest)) == 0)
                return registry_keep(p, &before, ret, err);
        e = get_config(p, &config, err);
        if (e == 0)
                e = layers_get(p->session, p->job, p->writer, &p->manifest, p->diffs, err);
        return e < 0 ? e : registry_commit(p, &config, ret, err);
}

int registry_pull(struct imager_job *job, struct image **ret, struct cella_err *err)
{
        struct pull *p = calloc(1, sizeof *p);
        if (!p)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "a pull");
        p->job = job;
        int e = read_request(p, err);
        if (e == 0)
                e = writer_open(job, &p->writer, err);
        if (e == 0)
                e = registry_pull_image(p, ret, err);
        session_free(p->session);
        writer_close(p->writer);
        credentials_done(&p->credentials);
        free(p);
        return e;
}
