#include "docker/remains.h"

#include <pthread.h>
#include <string.h>

#include "docker/container.h"

#define REMAINS_MAX 1024 /* further ones are left to the next cella-docker */

struct left {
        char socket[DOCKER_SOCKET_MAX], id[REPLY_ID_MAX];
};

static struct {
        pthread_mutex_t lock;
        struct left all[REMAINS_MAX];
        unsigned n;
} remains = {.lock = PTHREAD_MUTEX_INITIALIZER};

void remains_add(const char *socket, const char *id)
{
        pthread_mutex_lock(&remains.lock);
        if (remains.n < REMAINS_MAX) {
                struct left *left = &remains.all[remains.n++];
                memset(left, 0, sizeof *left);
                memcpy(left->socket, socket, strnlen(socket, sizeof left->socket - 1));
                memcpy(left->id, id, strnlen(id, sizeof left->id - 1));
        }
        pthread_mutex_unlock(&remains.lock);
}

bool remains_are_there(void)
{
        pthread_mutex_lock(&remains.lock);
        bool there = remains.n > 0;
        pthread_mutex_unlock(&remains.lock);
        return there;
}

static bool docker_remains_take(struct left *ret)
{
        pthread_mutex_lock(&remains.lock);
        bool there = remains.n > 0;
        if (there)
                *ret = remains.all[--remains.n];
        pthread_mutex_unlock(&remains.lock);
        return there;
}

void remains_retry(void *unused)
{
        struct left left;
        (void)unused;
        while (docker_remains_take(&left)) {
                struct cella_err ignored = {0};
                if (container_remove(left.socket, left.id, &ignored) == 0)
                        continue;
                remains_add(left.socket, left.id);
                return; /* the engine will probably not answer for the others either */
        }
}
