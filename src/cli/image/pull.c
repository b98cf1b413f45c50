/* cli/image/pull.c -- `cella image pull` and `cella image import`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/image/image.h"
#include "image/registry/credentials.h"
#include "image/store/reference.h"
#include "sys/file.h"

/* ---- pull ---- */

/* Room for the longest credentials, each byte as \u0000. */
#define CREDENTIALS_JSON_MAX (48u * 1024)

static int write_credentials(const struct credentials *c, char *ret)
{
        FILE *out = fmemopen(ret, CREDENTIALS_JSON_MAX, "w");
        struct json j = {.out = out};
        if (!out)
                return -ENOMEM;
        setvbuf(out, NULL, _IONBF, 0); /* no copy in a buffer that is not wiped */
        json_put_open(&j, NULL, '{');
        if (*c->username)
                json_put_string(&j, "username", c->username);
        if (*c->password)
                json_put_string(&j, "password", c->password);
        if (*c->identitytoken)
                json_put_string(&j, "identitytoken", c->identitytoken);
        if (*c->helper) /* a credential helper, which is not used: for the message */
                json_put_string(&j, "helper", c->helper);
        json_put_close(&j, '}');
        fputc('\0', out);
        bool bad = ferror(out);
        return fclose(out) != 0 || bad ? -E2BIG : 0;
}

/* Writes the credentials that docker login stored for the registry, as JSON, to ret; "" if there are none.
 * Public images need none. */
static void find_credentials(const char *registry, char *ret)
{
        static struct credentials c;
        struct cella_err err = {0};
        char path[1024];
        if (credentials_path(path, sizeof path) < 0)
                return;
        int r = credentials_read(path, registry, &c, &err);
        if (r < 0 && cli_may_note())
                fprintf(stderr, "cella: %s; continuing without credentials\n", err.msg);
        if (r > 0 && write_credentials(&c, ret) < 0)
                ret[0] = '\0';
        credentials_done(&c);
}

static int check_platform(const char *text, struct cella_err *err)
{
        static const char good[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
        size_t os = text ? strspn(text, good) : 1,
               rest = text ? strspn(text + os, "/abcdefghijklmnopqrstuvwxyz0123456789._-") : 2;
        if (!text || (os > 0 && text[os] == '/' && rest > 1 && text[os + rest] == '\0' && os + rest < 64))
                return 0;
        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                       "--platform takes OS/ARCHITECTURE like linux/arm64, not '%.40s'", text);
}

static int begin_pull(struct image_link *link, const struct image_options *o, const struct reference *ref,
                      const char *name, struct cella_err *err)
{
        char *credentials = calloc(1, CREDENTIALS_JSON_MAX), *line = NULL;
        size_t len = 0;
        if (!credentials)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "images");
        find_credentials(ref->registry, credentials);
        const struct imager_pull pull = {.ref = name,
                                         .platform = o->platform,
                                         .insecure = o->insecure,
                                         .credentials = *credentials ? credentials : NULL};
        int r = imager_write_pull(image_link_next(link), &pull, &line, &len);
        explicit_bzero(credentials, CREDENTIALS_JSON_MAX);
        free(credentials);
        return image_link_begin(link, r, line, len, -1, err);
}

static int image_command_pull(struct image_link *link, struct progress *progress,
                              const struct image_options *o, const char *text, struct cella_err *err)
{
        struct reference ref;
        char store[IMAGE_STORE_SIZE], name[REFERENCE_SIZE];
        int r = reference_parse(text, &ref, err);
        if (r < 0 || (r = check_platform(o->platform, err)) < 0 ||
            (r = image_link_store(o->state, store, err)) < 0 || (r = image_link_open(store, link, err)) < 0)
                return r;
        reference_write(&ref, name);
        if ((r = begin_pull(link, o, &ref, name, err)) < 0)
                return r;
        r = image_link_finish(link, err);
        progress_done(progress, r == 0);
        return r < 0 ? r : image_print_made(link, store, o->json, err);
}

static int pull_main(const struct cli_command *self, int argc, char **argv)
{
        static struct progress progress;
        AUTO(image_link_close) struct image_link link = IMAGE_LINK_NONE;
        struct image_options o = {0};
        struct cella_err err = {0};
        int r = cli_parse_all(self, argc, argv, &o, NULL, &err);
        progress_init(&progress);
        link.on_progress = progress_event;
        link.context = &progress;
        if (r >= 0 && (r = image_need_words(self, r, 1, 1, &err)) == 0)
                r = image_command_pull(&link, &progress, &o, argv[1], &err);
        progress_done(&progress, r == 0);
        return image_finish(r, &link, &err, o.json);
}

static const struct cli_option pull_options[] = {
        {"platform", "OS/ARCH", "the platform to pull, if the image has several (linux and this machine's)",
         CLI_INTO(CLI_TEXT, struct image_options, platform)},
        {"insecure", NULL, "allow HTTP, and TLS without a valid certificate, for your own registry",
         CLI_INTO(CLI_FLAG, struct image_options, insecure)},
        IMAGE_STATE_OPTION,
        IMAGE_JSON_OPTION,
        CLI_QUIET_OPTION,
};

const struct cli_command image_pull = {
        .name = "image pull",
        .usage = "REF [OPTIONS]",
        .summary = "get an image from a registry",
        .text = "REF is [HOST[:PORT]/]NAME[:TAG][@sha256:DIGEST]; python:3.12-slim is\n"
                "docker.io/library/python:3.12-slim.  Uses the credentials of docker login in\n"
                "~/.docker/config.json, and http_proxy, https_proxy and no_proxy.  Prints the id of the "
                "image.",
        .options = pull_options,
        .n_options = ARRAY_LEN(pull_options),
        .main = pull_main};

/* ---- import ---- */

static int open_archive(const char *path, struct cella_err *err)
{
        if (!strcmp(path, "-")) {
                if (isatty(STDIN_FILENO)) {
                        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "standard input is a terminal");
                        return err_hint(err, "docker save IMAGE | cella image import -");
                }
                return sys_dup_above(STDIN_FILENO, 3);
        }
        struct stat st;
        int fd = sys_openat(AT_FDCWD, path, O_RDONLY, 0);
        if (fd < 0)
                return err_set(err, CELLA_INVALID_REQUEST, fd, "cannot read '%.120s'", path);
        if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
                sys_close(fd);
                err_say(err, CELLA_INVALID_REQUEST, -EISDIR, "'%.120s' is a directory", path);
                return err_hint(err, "tar -C DIR -c . | cella image import - NAME");
        }
        return fd;
}

static int image_command_import(struct image_link *link, struct progress *progress,
                                const struct image_options *o, const char *path, const char *name,
                                struct cella_err *err)
{
        const struct imager_import what = {.name = name, .source = "import"};
        char store[IMAGE_STORE_SIZE], *line = NULL;
        size_t len = 0;
        int r = name ? image_check_name(name, err) : 0;
        AUTO(sys_close) int fd = r < 0 ? -1 : open_archive(path, err);
        if (r < 0 || (r = fd) < 0 || (r = image_link_store(o->state, store, err)) < 0 ||
            (r = image_link_open(store, link, err)) < 0)
                return r;
        r = imager_write_import(image_link_next(link), &what, &line, &len);
        if ((r = image_link_begin(link, r, line, len, fd, err)) < 0)
                return r;
        r = image_link_finish(link, err);
        progress_done(progress, r == 0);
        return r < 0 ? r : image_print_made(link, store, o->json, err);
}

static int import_main(const struct cli_command *self, int argc, char **argv)
{
        static struct progress progress;
        AUTO(image_link_close) struct image_link link = IMAGE_LINK_NONE;
        struct image_options o = {0};
        struct cella_err err = {0};
        int n = cli_parse_all(self, argc, argv, &o, NULL, &err), r = n;
        progress_init(&progress);
        link.on_progress = progress_event;
        link.context = &progress;
        if (r >= 0 && (r = image_need_words(self, n, 1, 2, &err)) == 0)
                r = image_command_import(&link, &progress, &o, argv[1], n > 1 ? argv[2] : NULL, &err);
        progress_done(&progress, r == 0);
        return image_finish(r, &link, &err, o.json);
}

static const struct cli_option import_options[] = {IMAGE_STATE_OPTION, IMAGE_JSON_OPTION, CLI_QUIET_OPTION};

const struct cli_command image_import = {.name = "image import",
                                         .usage = "FILE|- [NAME] [OPTIONS]",
                                         .summary = "create an image from an archive",
                                         .text = "FILE is an archive of docker save or podman save, an OCI "
                                                 "layout as a tar, or a tar of a root\n"
                                                 "directory; plain or compressed; -: standard input.  NAME "
                                                 "is the name of the image; default:\n"
                                                 "the name in the archive.  Prints the id of the image.",
                                         .options = import_options,
                                         .n_options = ARRAY_LEN(import_options),
                                         .main = import_main};
