/* docker/reply.h -- reads what a container engine answers.
 *
 * Docker's answers and Podman's, which are nearly the same.  Each function changes the text (see json_read),
 * takes nothing for granted, and answers -EPROTO for what makes no sense. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cella.h"
#include "image/store/store.h"
#include "wire/docker.h"

#define REPLY_ID_MAX 72 /* of a container: 64 digits */
#define REPLY_VOLUMES_MAX 64
#define REPLY_OWNER_MAX 64

/* What it says about an error, in one line; "" if nothing. */
void reply_message(char *text, size_t len, char *ret, size_t size);

/* Of GET /info: fills in what that knows. */
int reply_info(char *text, size_t len, struct docker_opened *ret);
/* Whether it knows a runtime; text is that of docker_opened. */
bool reply_has_runtime(const char *runtimes, const char *name);

/* Of GET /images/NAME/json. */
struct reply_image {
        struct image image;                     /* its lists point into memory */
        const char *volumes[REPLY_VOLUMES_MAX]; /* paths that the image wants to be volumes */
        size_t n_volumes;
        bool checks_health; /* the image has a command for that */
        void *memory[2];
};

/* Keeps the text, which was malloc()ed, in any case. */
int reply_image(char *text, size_t len, struct reply_image *ret);
void reply_image_done(struct reply_image *image);
static inline void reply_image_done_auto(struct reply_image *image)
{
        reply_image_done(image);
}

/* Of POST /containers/create. */
int reply_created(char *text, size_t len, char ret[REPLY_ID_MAX]);

/* Of GET /containers/ID/json. */
struct reply_state {
        bool running, paused, oom_killed;
        int exit_code;
        int pid; /* of its first process; 0: it does not say */
        char error[160];
};

int reply_state(char *text, size_t len, struct reply_state *ret);

/* Of GET /containers/json: calls each(id, owner) for those that have our labels. */
int reply_list(char *text, size_t len, void (*each)(void *context, const char *id, const char *owner),
               void *context);

/* Of GET /containers/ID/stats?stream=false. */
int reply_stats(char *text, size_t len, struct keeper_counted *ret);

/* What went wrong in a pull, from the lines that it told of itself; "" if nothing. */
void reply_pull(char *text, size_t len, char *ret, size_t size);

#define REPLY_LABEL_OWNER "cella.owner"
#define REPLY_LABEL_HOME "cella.home"
#define REPLY_LABEL_SANDBOX "cella.sandbox"

/* 64 hexadecimal digits, or at least 12 of them. */
bool reply_id_valid(const char *id);
