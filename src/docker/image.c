#include "docker/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "docker/api.h"
#include "docker/container.h"

#define ESCAPED_MAX (3 * KEEPER_IMAGE_MAX + 1)

/* Returns 1 if the engine has the image, 0 if not, or -errno. */
static int docker_image_inspect(const char *socket, const char *reference, struct reply_image *ret,
                                struct cella_err *err)
{
        char name[ESCAPED_MAX], path[ESCAPED_MAX + 32];
        AUTO(docker_api_answer_done) struct docker_api_answer answer = {0};
        int r = docker_api_escape(reference, name, sizeof name);
        if (r < 0)
                return err_say(err, CELLA_INVALID_REQUEST, r, "an image's name is too long");
        snprintf(path, sizeof path, "/images/%s/json", name);
        const struct docker_api_request q = {
                .socket = socket, .method = "GET", .path = path, .patience_s = API_PATIENCE_S};
        if ((r = docker_api_call(&q, &answer, err)) < 0)
                return r;
        if (answer.status == 404)
                return 0;
        if (!docker_api_succeeded(&answer))
                return container_refused(&answer, "look at the image", err);
        r = reply_image(answer.text, answer.len, ret);
        return r < 0 ? err_say(err, CELLA_ENGINE_UNAVAILABLE, r,
                               "the container engine sent an invalid description of image '%.100s'",
                               reference)
                     : 1;
}

/* Adds ":latest" to a name without a tag: the engine would pull all tags. */
static void tag_of(const char *reference, char *ret, size_t size)
{
        const char *name = strrchr(reference, '/');
        bool tagged = strchr(name ? name : reference, ':') || strchr(reference, '@');
        snprintf(ret, size, "%s%s", reference, tagged ? "" : ":latest");
}

static int docker_image_pull(const char *socket, const char *reference, struct cella_err *err)
{
        char whole[KEEPER_IMAGE_MAX + 8], name[ESCAPED_MAX + 32], path[ESCAPED_MAX + 64], why[161];
        AUTO(docker_api_answer_done) struct docker_api_answer answer = {0};
        tag_of(reference, whole, sizeof whole);
        int r = docker_api_escape(whole, name, sizeof name);
        if (r < 0)
                return err_say(err, CELLA_INVALID_REQUEST, r, "an image's name is too long");
        snprintf(path, sizeof path, "/images/create?fromImage=%s", name);
        const struct docker_api_request q = {.socket = socket,
                                             .method = "POST",
                                             .path = path,
                                             .patience_s = API_PULL_PATIENCE_S,
                                             .tail_only = true};
        if ((r = docker_api_call(&q, &answer, err)) < 0)
                return r;
        if (!docker_api_succeeded(&answer))
                return container_refused(&answer, "pull the image", err);
        reply_pull(answer.text, answer.len, why, sizeof why);
        return why[0] ? err_say(err, CELLA_NOT_FOUND, -ENOENT, "cannot pull image '%.48s': %s", reference,
                                why)
                      : 0;
}

int docker_image_find(const char *socket, const char *reference, bool may_pull, struct reply_image *ret,
                      struct cella_err *err)
{
        int r = docker_image_inspect(socket, reference, ret, err);
        if (r == 0 && may_pull) {
                if ((r = docker_image_pull(socket, reference, err)) < 0)
                        return r;
                r = docker_image_inspect(socket, reference, ret, err);
        }
        if (r != 0)
                return r < 0 ? r : 0;
        err_say(err, CELLA_NOT_FOUND, -ENOENT, "no image '%.120s' in the container engine", reference);
        return err_hint(err, "docker pull %.80s (or podman pull), or have the daemon do it: images.pull",
                        reference);
}
