/* docker/reply.h -- parses the answers of a container engine: Docker, or Podman with nearly the same answers.
 *
 * All answers are foreign input: unexpected contents are -EPROTO.  Control characters are replaced in texts
 * that become part of our messages. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"
#include "image/store/store.h"
#include "wire/docker.h"

#define REPLY_ID_MAX 72 /* of a container: 64 digits */
#define REPLY_VOLUMES_MAX 64
#define REPLY_OWNER_MAX 64

/* Writes the engine's error message, in one line; "" if there is none. */
void reply_message(const char *text, size_t len, char *ret, size_t size);

/* Reads the answer of GET /info into *ret. */
int reply_info(const char *text, size_t len, struct docker_opened *ret);
/* Whether the engine has a runtime of this name; runtimes is that of struct docker_opened. */
bool reply_has_runtime(const char *runtimes, const char *name);

/* Of GET /images/NAME/json. */
struct reply_image {
        struct image image;                     /* its strings belong to document, its lists to strings */
        const char *volumes[REPLY_VOLUMES_MAX]; /* paths that the image declares as volumes */
        size_t n_volumes;
        bool checks_health; /* the image has a health check */
        struct json_t *document;
        const char **strings;
};

/* On success *ret owns its memory: reply_image_done() releases it.  -EPROTO, -E2BIG (volumes), -ENOMEM. */
int reply_image(const char *text, size_t len, struct reply_image *ret);
void reply_image_done(struct reply_image *image);
DEFINE_AUTO_DONE(struct reply_image, reply_image_done)

/* Of POST /containers/create. */
int reply_created(const char *text, size_t len, char ret[REPLY_ID_MAX]);

/* Of GET /containers/ID/json. */
struct reply_state {
        bool running, paused, oom_killed;
        int exit_code;
        int pid; /* of its first process; 0: unknown */
        char error[160];
};

int reply_state(const char *text, size_t len, struct reply_state *ret);

/* Of GET /volumes/NAME: whether it is an ordinary volume with our label. */
bool reply_volume_is_of(const char *text, size_t len, const char *home);

/* Of GET /containers/json: calls each(id, owner) for each container that has our labels. */
int reply_list(const char *text, size_t len, void (*each)(void *context, const char *id, const char *owner),
               void *context);

/* Of GET /containers/ID/stats?stream=false. */
int reply_stats(const char *text, size_t len, struct keeper_counted *ret);

/* Writes the last error among the progress lines of a pull; "" if there is none. */
void reply_pull(const char *text, size_t len, char *ret, size_t size);

#define REPLY_LABEL_OWNER "cella.owner"
#define REPLY_LABEL_HOME "cella.home"
#define REPLY_LABEL_SANDBOX "cella.sandbox"

/* 64 hexadecimal digits, or at least 12 of them. */
bool reply_id_valid(const char *id);
