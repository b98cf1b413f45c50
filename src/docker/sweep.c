#include "docker/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "docker/api.h"
#include "docker/container.h"
#include "docker/remains.h"

#define LEFT_MAX 1024 /* at once; the rest is removed next time */
#define LIST_TRIES 10
#define LIST_PAUSE_US 100000

struct found {
        const struct place *place;
        char (*ids)[REPLY_ID_MAX];
        size_t n;
};

static void docker_sweep_take(void *context, const char *id, const char *owner)
{
        struct found *f = context;
        if (f->n < LEFT_MAX && strcmp(owner, f->place->owner) != 0 &&
            !place_owner_lives(f->place->home, owner))
                memcpy(f->ids[f->n++], id, strlen(id) + 1);
}

/* Podman answers 500 while a container dies. */
static void docker_sweep_list(const char *socket, const char *path, struct found *f)
{
        const struct docker_api_request q = {
                .socket = socket, .method = "GET", .path = path, .patience_s = API_PATIENCE_S};
        for (int tries = 0; tries < LIST_TRIES; tries++) {
                AUTO(docker_api_answer_done) struct docker_api_answer answer = {0};
                struct cella_err ignored = {0};
                if (docker_api_call(&q, &answer, &ignored) < 0)
                        return;
                if (docker_api_succeeded(&answer)) {
                        reply_list(answer.text, answer.len, docker_sweep_take, f);
                        return;
                }
                usleep(LIST_PAUSE_US);
        }
}

void sweep(const struct place *place, const char *socket)
{
        struct cella_err ignored = {0};
        char filter[700], escaped[2100], path[2200];
        struct found f = {place, calloc(LEFT_MAX, REPLY_ID_MAX), 0};
        snprintf(filter, sizeof filter, "{\"label\":[\"" REPLY_LABEL_HOME "=%s\"]}", place->home);
        if (f.ids && strlen(place->home) < 600 && !strpbrk(place->home, "\"\\") &&
            docker_api_escape(filter, escaped, sizeof escaped) == 0) {
                snprintf(path, sizeof path, "/containers/json?all=true&filters=%s", escaped);
                docker_sweep_list(socket, path, &f);
                for (size_t i = 0; i < f.n; i++)
                        if (container_remove(socket, f.ids[i], &ignored) < 0)
                                remains_add(socket, f.ids[i]);
        }
        free(f.ids);
        place_sweep(place);
}
