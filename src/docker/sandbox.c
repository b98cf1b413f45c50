#include "docker/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "sys/file.h"

#define DEATH_PATIENCE_MS 500 /* afterwards the engine is asked, which takes as long */
#define PLACES KEEPER_SANDBOXES_MAX

static struct {
        pthread_mutex_t lock;
        struct docker_sandbox *all[PLACES];
        uint32_t times[PLACES]; /* number of uses of each slot */
        unsigned next;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct docker_sandbox *docker_sandbox_alloc(const char *id, const char *container, const char *socket)
{
        struct docker_sandbox *c = calloc(1, sizeof *c);
        if (!c)
                return NULL;
        c->holders = 1;
        c->pidfd = c->control = -1;
        c->usage = USAGE_NONE;
        pthread_mutex_init(&c->lock, NULL);
        memcpy(c->id, id, strnlen(id, sizeof c->id - 1));
        memcpy(c->container, container, strnlen(container, sizeof c->container - 1));
        memcpy(c->socket, socket, strnlen(socket, sizeof c->socket - 1));
        return c;
}

int docker_sandbox_add(struct docker_sandbox *c)
{
        int r = -EUSERS;
        pthread_mutex_lock(&table.lock);
        for (unsigned i = 0; i < PLACES && r < 0; i++) {
                unsigned at = (table.next + i) % PLACES;
                if (table.all[at])
                        continue;
                table.next = at + 1;
                if (++table.times[at] >= UINT32_MAX / PLACES)
                        table.times[at] = 1;
                c->handle = table.times[at] * PLACES + at;
                c->holders++;
                table.all[at] = c;
                r = 0;
        }
        pthread_mutex_unlock(&table.lock);
        return r;
}

static struct docker_sandbox *docker_sandbox_find(uint32_t handle, bool take)
{
        struct docker_sandbox *c = table.all[handle % PLACES];
        if (!c || c->handle != handle)
                return NULL;
        if (take)
                table.all[handle % PLACES] = NULL; /* the caller takes the table's reference */
        else
                c->holders++;
        return c;
}

struct docker_sandbox *docker_sandbox_hold(uint32_t handle)
{
        pthread_mutex_lock(&table.lock);
        struct docker_sandbox *c = docker_sandbox_find(handle, false);
        pthread_mutex_unlock(&table.lock);
        return c;
}

struct docker_sandbox *docker_sandbox_take(uint32_t handle)
{
        pthread_mutex_lock(&table.lock);
        struct docker_sandbox *c = docker_sandbox_find(handle, true);
        pthread_mutex_unlock(&table.lock);
        return c;
}

struct docker_sandbox *docker_sandbox_take_any(void)
{
        struct docker_sandbox *c = NULL;
        pthread_mutex_lock(&table.lock);
        for (unsigned i = 0; i < PLACES && !c; i++)
                if (table.all[i])
                        c = docker_sandbox_find(table.all[i]->handle, true);
        pthread_mutex_unlock(&table.lock);
        return c;
}

void docker_sandbox_release(struct docker_sandbox *c)
{
        pthread_mutex_lock(&table.lock);
        bool last = --c->holders == 0;
        pthread_mutex_unlock(&table.lock);
        if (!last)
                return;
        sys_close(c->pidfd);
        sys_close(c->control);
        usage_close(&c->usage);
        pthread_mutex_destroy(&c->lock);
        free(c);
}

bool docker_sandbox_is_dead(const struct docker_sandbox *c)
{
        struct pollfd fd = {c->pidfd, POLLIN, 0};
        return c->pidfd >= 0 && poll(&fd, 1, 0) > 0;
}

bool docker_sandbox_let_go(const struct docker_sandbox *c)
{
        struct pollfd fd = {c->pidfd, POLLIN, 0};
        if (c->control >= 0)
                shutdown(c->control, SHUT_WR);
        return c->pidfd >= 0 && poll(&fd, 1, DEATH_PATIENCE_MS) > 0;
}
