#include "docker/volume.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/foreign_json.h"
#include "docker/api.h"

#define GIVE_PATIENCE_US 30000000
#define GIVE_PAUSE_US 20000

void volume_name(const char *workspace, char ret[VOLUME_NAME_MAX])
{
        snprintf(ret, VOLUME_NAME_MAX, "cella-%.63s", workspace);
}

static void volume_path(const char *workspace, char ret[160])
{
        char name[VOLUME_NAME_MAX];
        volume_name(workspace, name);
        snprintf(ret, 160, "/volumes/%s", name);
}

/* Returns 1 if the volume exists and is ours, 0 if there is none, or -errno. */
static int volume_look(const char *socket, const char *workspace, const char *home, struct cella_err *err)
{
        AUTO(docker_api_answer_done) struct docker_api_answer answer = {0};
        char path[160];
        volume_path(workspace, path);
        const struct docker_api_request q = {
                .socket = socket, .method = "GET", .path = path, .patience_s = API_PATIENCE_S};
        int r = docker_api_call(&q, &answer, err);
        if (r < 0 || answer.status == 404)
                return r;
        if (!docker_api_succeeded(&answer))
                return container_refused(&answer, "look at the volume", err);
        if (!reply_volume_is_of(answer.text, answer.len, home))
                return err_say(err, CELLA_ENGINE_UNAVAILABLE, -EEXIST,
                               "the volume %s of the container engine does not belong to this daemon",
                               path + strlen("/volumes/"));
        return 1;
}

int volume_find(const char *socket, const char *workspace, const char *home, struct cella_err *err)
{
        AUTO(docker_api_answer_done) struct docker_api_answer answer = {0};
        char name[VOLUME_NAME_MAX];
        int r = volume_look(socket, workspace, home, err);
        if (r != 0)
                return r < 0 ? r : 0;
        volume_name(workspace, name);
        AUTO(json_decref)
        json_t *document = json_pack("{s:s,s:{s:s}}", "Name", name, "Labels", REPLY_LABEL_HOME, home);
        char *body = json_dumps(document, JSON_COMPACT);
        if (!body)
                return err_say(err, CELLA_INVALID_REQUEST, -EILSEQ, "a path or a name is not UTF-8");
        const struct docker_api_request q = {.socket = socket,
                                             .method = "POST",
                                             .path = "/volumes/create",
                                             .body = body,
                                             .patience_s = API_PATIENCE_S};
        r = docker_api_call(&q, &answer, err);
        free(body);
        if (r < 0)
                return r;
        return docker_api_succeeded(&answer) ? 1 : container_refused(&answer, "make a volume", err);
}

static int volume_await(const char *socket, const char *id, struct cella_err *err)
{
        const int64_t until = clock_us() + GIVE_PATIENCE_US;
        struct reply_state state;
        int r;
        while ((r = container_inspect(socket, id, &state, err)) == 0 && state.running && clock_us() < until)
                usleep(GIVE_PAUSE_US);
        if (r < 0)
                return r;
        return !state.running && state.exit_code == 0
                       ? 0
                       : err_say(err, CELLA_ENGINE_UNAVAILABLE, -EIO,
                                 "cannot make a volume that the user of the image can write to");
}

int volume_give(const struct container_spec *spec, struct cella_err *err)
{
        struct container_spec give = *spec;
        struct cella_err ignored = {0};
        char id[REPLY_ID_MAX];
        give.user = "0:0"; /* a new volume belongs to root */
        give.gives = true;
        int r = container_create(&give, id, err);
        if (r < 0)
                return r;
        r = container_start(spec->engine->socket, id, err);
        if (r == 0)
                r = volume_await(spec->engine->socket, id, err);
        const int removed = container_remove(spec->engine->socket, id, r < 0 ? &ignored : err);
        return r < 0 ? r : removed;
}

int volume_remove(const char *socket, const char *workspace, const char *home, struct cella_err *err)
{
        AUTO(docker_api_answer_done) struct docker_api_answer answer = {0};
        char path[160];
        int r = volume_look(socket, workspace, home, err);
        if (r <= 0)
                return r;
        volume_path(workspace, path);
        const struct docker_api_request q = {
                .socket = socket, .method = "DELETE", .path = path, .patience_s = API_PATIENCE_S};
        r = docker_api_call(&q, &answer, err);
        if (r < 0 || docker_api_succeeded(&answer) || answer.status == 404)
                return r;
        return container_refused(&answer, "remove the volume", err);
}
