#include "docker/find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "docker/api.h"
#include "docker/reply.h"

static int docker_find_ask(const char *socket, const char *path, unsigned patience_s,
                           struct docker_api_answer *ret, struct cella_err *err)
{
        const struct docker_api_request q = {
                .socket = socket, .method = "GET", .path = path, .patience_s = patience_s};
        int r = docker_api_call(&q, ret, err);
        if (r < 0 || docker_api_succeeded(ret))
                return r;
        int status = ret->status;
        docker_api_answer_done(ret);
        return err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPROTO,
                       "%.100s is not a container engine: it answered %d to %s", socket, status, path);
}

/* Not /version: Podman starts two programs to answer that. */
static int docker_find_look(const char *socket, struct docker_opened *ret, struct cella_err *err)
{
        AUTO(docker_api_answer_done) struct docker_api_answer ping = {0};
        AUTO(docker_api_answer_done) struct docker_api_answer info = {0};
        struct docker_opened found = {.type = DOCKER_OPENED};
        if (strlen(socket) >= sizeof found.socket)
                return err_say(err, CELLA_INVALID_REQUEST, -ENAMETOOLONG,
                               "docker.socket: a path has at most %d characters", DOCKER_SOCKET_MAX - 1);
        int r = docker_find_ask(socket, "/_ping", API_LOOK_PATIENCE_S, &ping, err);
        if (r == 0)
                r = docker_find_ask(socket, "/info", API_PATIENCE_S, &info, err);
        if (r < 0)
                return r;
        if (reply_info(info.text, info.len, &found) < 0)
                return err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPROTO,
                               "%.100s is not a container engine: it sent an invalid answer", socket);
        found.podman = ping.podman;
        memcpy(found.api, ping.api, sizeof found.api);
        memcpy(found.socket, socket, strlen(socket) + 1);
        *ret = found;
        return 0;
}

/* Only unix:///path: other addresses are not on this machine. */
static int path_of_host(const char *host, const char **ret, struct cella_err *err)
{
        if (!strncmp(host, "unix://", 7) && host[7] == '/') {
                *ret = host + 7;
                return 0;
        }
        err_say(err, CELLA_ENGINE_UNAVAILABLE, -EINVAL, "DOCKER_HOST is '%.80s', which is no Unix socket",
                host);
        return err_hint(err, "the engine must be on this machine: DOCKER_HOST=unix:///run/docker.sock");
}

static int docker_find_not_found(const struct cella_err *denied, struct cella_err *err)
{
        if (denied->kind != CELLA_OK) {
                *err = *denied;
                return err->num;
        }
        err_say(err, CELLA_ENGINE_UNAVAILABLE, -ENOENT,
                "docker not found: no socket of Docker or Podman answers");
        return err_hint(
                err,
                "apt-get install docker.io; or podman, and systemctl enable --now podman.socket; or use the "
                "engine native");
}

/* An engine that refuses access gives a better error message than a missing one. */
static int search(const struct setup *setup, struct docker_opened *ret, struct cella_err *err)
{
        char own[2][256];
        const char *places[] = {"/var/run/docker.sock", "/run/podman/podman.sock", own[0], own[1]};
        struct cella_err denied = {0};
        size_t n = ARRAY_LEN(places);
        if (!setup->runtime_dir || strlen(setup->runtime_dir) > sizeof own[0] - 32)
                n = 2;
        else
                for (int i = 0; i < 2; i++)
                        snprintf(own[i], sizeof own[i], "%.220s/%s", setup->runtime_dir,
                                 i == 0 ? "docker.sock" : "podman/podman.sock");
        for (size_t i = 0; i < n; i++) {
                struct cella_err why = {0};
                int r = strlen(places[i]) < DOCKER_SOCKET_MAX ? docker_find_look(places[i], ret, &why)
                                                              : -ENAMETOOLONG;
                if (r == 0)
                        return 0;
                if (r != -ENOENT && r != -ENOTDIR && r != -ECONNREFUSED && r != -ENAMETOOLONG &&
                    denied.kind == CELLA_OK)
                        denied = why;
        }
        return docker_find_not_found(&denied, err);
}

static int choose_runtime(const struct docker_open *want, struct docker_opened *found, struct cella_err *err)
{
        if (!want->runtime[0])
                return 0;
        if (!reply_has_runtime(found->runtimes, want->runtime)) {
                err_say(err, CELLA_ENGINE_UNAVAILABLE, -ENOENT, "docker.runtime: %s knows no runtime '%.60s'",
                        found->podman ? "podman" : "docker", want->runtime);
                return err_hint(err, "it has: %.150s", found->runtimes);
        }
        memcpy(found->runtime, want->runtime, sizeof found->runtime);
        return 0;
}

/* Whether containers of this runtime are processes of this kernel, so that a socket works. */
static bool is_of_this_kernel(const char *runtime)
{
        static const char *const known[] = {"", "runc", "crun", "youki", "io.containerd.runc.v2"};
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
                if (!strcmp(runtime, known[i]))
                        return true;
        return false;
}

static uint32_t choose_transport(const struct setup *setup, const struct docker_open *want,
                                 const struct docker_opened *found)
{
        if (want->transport != DOCKER_AUTO)
                return want->transport;
        if (setup->transport && !strcmp(setup->transport, "socket"))
                return DOCKER_SOCKET;
        if (setup->transport && !strcmp(setup->transport, "attach"))
                return DOCKER_ATTACH;
        return is_of_this_kernel(found->runtime) ? DOCKER_SOCKET : DOCKER_AUTO;
}

int find_engine(const struct setup *setup, const struct docker_open *want, struct docker_opened *ret,
                struct cella_err *err)
{
        struct docker_opened found = {0};
        const char *socket = want->socket[0] ? want->socket : NULL;
        int r = !socket && setup->host ? path_of_host(setup->host, &socket, err) : 0;
        if (r == 0)
                r = socket ? docker_find_look(socket, &found, err) : search(setup, &found, err);
        if (r == 0)
                r = choose_runtime(want, &found, err);
        if (r < 0)
                return r;
        found.transport = choose_transport(setup, want, &found);
        *ret = found;
        return 0;
}
