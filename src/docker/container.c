#include "docker/container.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "docker/api.h"

int container_refused(struct docker_api_answer *answer, const char *what, struct cella_err *err)
{
        char message[201];
        const int status = answer->status;
        reply_message(answer->text, answer->len, message, sizeof message);
        enum cella_kind kind = status == 400   ? CELLA_INVALID_REQUEST
                               : status == 404 ? CELLA_NOT_FOUND
                                               : CELLA_ENGINE_UNAVAILABLE;
        int num = status == 404 ? -ENOENT : status == 400 ? -EINVAL : status == 409 ? -EEXIST : -EIO;
        if (!message[0])
                return err_say(err, kind, num, "cannot %s: the container engine answered %d", what, status);
        return err_say(err, kind, num, "cannot %s: %s", what, message);
}

/* Sends a request without a body.  Returns 0 on success or for status `also`; otherwise sets err. */
static int order(const char *socket, const char *method, const char *path, const char *what, int also,
                 struct cella_err *err)
{
        AUTO(docker_api_answer_done) struct docker_api_answer answer = {0};
        const struct docker_api_request q = {
                .socket = socket, .method = method, .path = path, .patience_s = API_PATIENCE_S};
        int r = docker_api_call(&q, &answer, err);
        if (r < 0 || docker_api_succeeded(&answer) || answer.status == also)
                return r;
        return container_refused(&answer, what, err);
}

/* An id was checked by reply_id_valid() and needs no escaping. */
static const char *path_of(char ret[160], const char *id, const char *rest)
{
        snprintf(ret, 160, "/containers/%.72s%s", id, rest);
        return ret;
}

int container_create(const struct container_spec *spec, char ret[REPLY_ID_MAX], struct cella_err *err)
{
        AUTO(docker_api_answer_done) struct docker_api_answer answer = {0};
        char path[160];
        snprintf(path, sizeof path, "/containers/create?name=cella-%.31s", spec->make->id);
        char *document = container_document(spec);
        if (!document)
                return err_say(err, CELLA_INVALID_REQUEST, -EILSEQ, "a path or a name is not UTF-8");
        const struct docker_api_request q = {.socket = spec->engine->socket,
                                             .method = "POST",
                                             .path = path,
                                             .body = document,
                                             .patience_s = API_PATIENCE_S};
        int r = docker_api_call(&q, &answer, err);
        free(document);
        if (r < 0)
                return r;
        if (!docker_api_succeeded(&answer))
                return container_refused(&answer, "make a container", err);
        if (reply_created(answer.text, answer.len, ret) < 0)
                return err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPROTO,
                               "the container engine made a container without an id");
        return 0;
}

int container_start(const char *socket, const char *id, struct cella_err *err)
{
        char path[160];
        int r = order(socket, "POST", path_of(path, id, "/start"), "start the container", 304, err);
        /* The engine is the cause, whatever status it returns. */
        if (r < 0)
                err->kind = CELLA_ENGINE_UNAVAILABLE;
        return r;
}

int container_pause(const char *socket, const char *id, bool pause, struct cella_err *err)
{
        char path[160];
        return order(socket, "POST", path_of(path, id, pause ? "/pause" : "/unpause"),
                     pause ? "pause the sandbox" : "resume the sandbox", 0, err);
}

static int docker_container_get(const char *socket, const char *path, const char *what,
                                struct docker_api_answer *ret, struct cella_err *err)
{
        const struct docker_api_request q = {
                .socket = socket, .method = "GET", .path = path, .patience_s = API_PATIENCE_S};
        int r = docker_api_call(&q, ret, err);
        return r < 0 || docker_api_succeeded(ret) ? r : container_refused(ret, what, err);
}

int container_inspect(const char *socket, const char *id, struct reply_state *ret, struct cella_err *err)
{
        AUTO(docker_api_answer_done) struct docker_api_answer answer = {0};
        char path[160];
        int r = docker_container_get(socket, path_of(path, id, "/json"), "look at the container", &answer,
                                     err);
        if (r < 0)
                return r;
        return reply_state(answer.text, answer.len, ret) < 0
                       ? err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPROTO,
                                 "the container engine sent an invalid answer")
                       : 0;
}

int container_stats(const char *socket, const char *id, struct keeper_counted *ret, struct cella_err *err)
{
        AUTO(docker_api_answer_done) struct docker_api_answer answer = {0};
        char path[160];
        int r = docker_container_get(socket, path_of(path, id, "/stats?stream=false&one-shot=true"), "count",
                                     &answer, err);
        if (r < 0)
                return r;
        return reply_stats(answer.text, answer.len, ret) < 0
                       ? err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPROTO,
                                 "the container engine sent an invalid answer")
                       : 0;
}

void container_limit(const char *socket, const char *id, uint64_t memory, uint64_t processes,
                     uint64_t cpus_milli)
{
        AUTO(docker_api_answer_done) struct docker_api_answer answer = {0};
        struct cella_err ignored = {0};
        char path[160], cpus[48] = "", body[250];
        if (cpus_milli > 0)
                snprintf(cpus, sizeof cpus, ",\"NanoCpus\":%llu",
                         (unsigned long long)container_cpus(cpus_milli) * 1000000);
        snprintf(body, sizeof body, "{\"Memory\":%llu,\"MemorySwap\":%llu,\"PidsLimit\":%llu%s}",
                 (unsigned long long)memory, (unsigned long long)memory, (unsigned long long)processes, cpus);
        const struct docker_api_request q = {.socket = socket,
                                             .method = "POST",
                                             .path = path_of(path, id, "/update"),
                                             .body = body,
                                             .patience_s = API_PATIENCE_S};
        docker_api_call(&q, &answer, &ignored);
}

/* Status 409: it does not run. */
int container_kill(const char *socket, const char *id, struct cella_err *err)
{
        struct cella_err why = {0};
        char path[160];
        int r = order(socket, "POST", path_of(path, id, "/kill?signal=SIGKILL"), "kill the sandbox", 404,
                      &why);
        if (r == 0)
                return 0;
        struct reply_state state;
        if (container_inspect(socket, id, &state, err) < 0 || !state.running)
                return 0;
        if (state.paused) { /* a frozen process does not die, and some engines refuse */
                container_pause(socket, id, false, &why);
                r = order(socket, "POST", path_of(path, id, "/kill?signal=SIGKILL"), "kill the sandbox", 404,
                          &why);
        }
        if (r < 0)
                *err = why;
        return r;
}

int container_remove(const char *socket, const char *id, struct cella_err *err)
{
        char path[160];
        int r = order(socket, "DELETE", path_of(path, id, "?force=true&v=true"), "remove the container", 404,
                      err);
        if (r == 0)
                return 0;
        /* It may be paused, or dying right now. */
        struct cella_err why = {0};
        container_kill(socket, id, &why);
        return order(socket, "DELETE", path_of(path, id, "?force=true&v=true"), "remove the container", 404,
                     err);
}
