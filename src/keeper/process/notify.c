#include "keeper/process/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/auto.h"
#include "sys/file.h"

static struct sockaddr_un manager = {.sun_family = AF_UNIX};
static socklen_t manager_len;

void notify_init(void)
{
        const char *path = getenv("NOTIFY_SOCKET");
        size_t len = path ? strlen(path) : 0;
        if (len < 2 || len >= sizeof manager.sun_path || (path[0] != '/' && path[0] != '@'))
                return;
        memcpy(manager.sun_path, path, len);
        if (path[0] == '@') /* an abstract one */
                manager.sun_path[0] = '\0';
        manager_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
        unsetenv("NOTIFY_SOCKET");
}

void notify(const char *state)
{
        if (manager_len == 0)
                return;
        AUTO(sys_close) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0)
                (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&manager,
                             manager_len);
}
