/* test/fuzz/docker_reply.c -- whatever a container engine answers, what is made of it is bounded and sane;
 * and whatever is asked of cella-docker. */
#include "docker/container.h"
#include "docker/image.h"
#include "docker/process.h"
#include "docker/reply.h"
#include "fuzz.h"

static void must(bool condition)
{
        if (!condition)
                abort();
}

/* A copy of exact size, so that a sanitizer reports a read past its end. */
static char *copy(const uint8_t *data, size_t size)
{
        char *text = malloc(size ? size : 1);
        must(text != NULL);
        memcpy(text, data, size);
        return text;
}

static bool is_line(const char *text)
{
        for (; *text; text++)
                if ((unsigned char)*text < ' ')
                        return false;
        return true;
}

/* The parsed image can be written, read back, and put into a container's document. */
static void check_image(const uint8_t *data, size_t size)
{
        static const struct docker_opened engine = {.podman = 1, .runtime = "runc"};
        static struct keeper_make make = {.id = "sbx_x"};
        struct reply_image image;
        struct image *again = NULL;
        struct cella_err err;
        size_t len = 0;
        char *answer = copy(data, size);
        int r = reply_image(answer, size, &image);
        free(answer); /* nothing of the result may point into it */
        if (r < 0)
                return;
        cella_limits_default(&make.limits);
        char *text = image_write(&image.image, &len);
        must(text && image_parse(text, len, image.image.id, NULL, &again, &err) == 0);
        must(!strcmp(again->cwd, image.image.cwd) && !strcmp(again->user, image.image.user));
        image_free(again);
        free(text);
        const struct container_spec spec = {.engine = &engine,
                                            .make = &make,
                                            .image = &image,
                                            .directory = "/d",
                                            .home = "/h",
                                            .owner = "o",
                                            .user = ""};
        char *document = container_document(&spec);
        must(document != NULL);
        free(document);
        reply_image_done(&image);
}

static void each(void *context, const char *id, const char *owner)
{
        (void)context;
        must(reply_id_valid(id) && strlen(owner) < REPLY_OWNER_MAX);
}

static void check_packet(const uint8_t *data, size_t size)
{
        const char *wrong = NULL;
        struct making *m = making_parse(data, size, size & 1, &wrong);
        must((m == NULL) == (wrong != NULL));
        if (!m)
                return;
        must(m->n_mounts <= DOCKER_MOUNTS_MAX && strlen(m->make.image) < sizeof m->make.image &&
             !strchr(m->make.id, '/'));
        for (size_t i = 0; i < m->n_mounts; i++)
                must(m->mounts[i].source[0] == '/' && m->mounts[i].target[0] == '/');
        if (m->by_server)
                must(m->n_mounts <= KEEPER_MOUNTS_MAX && !mounts_wrong(m->mounts, m->n_mounts));
        free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct docker_opened opened = {0};
        struct reply_state state;
        struct keeper_counted counted = {0};
        char id[REPLY_ID_MAX], message[100];
        char *texts[7];
        for (size_t i = 0; i < 7; i++)
                texts[i] = copy(data, size);
        reply_message(texts[0], size, message, sizeof message);
        must(strlen(message) < sizeof message && is_line(message));
        reply_info(texts[1], size, &opened);
        must(memchr(opened.runtimes, '\0', sizeof opened.runtimes) &&
             memchr(opened.version, '\0', sizeof opened.version));
        if (reply_created(texts[2], size, id) == 0)
                must(reply_id_valid(id));
        reply_volume_is_of(texts[3], size, "/var/lib/cella-docker");
        if (reply_state(texts[3], size, &state) == 0)
                must(is_line(state.error));
        reply_list(texts[4], size, each, NULL);
        reply_stats(texts[5], size, &counted);
        reply_pull(texts[6], size, message, sizeof message);
        must(is_line(message));
        for (size_t i = 0; i < 7; i++)
                free(texts[i]);
        check_image(data, size);
        check_packet(data, size);
        return 0;
}
