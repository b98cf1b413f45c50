#include "init/request.h"

#include <errno.h>
#include <string.h>

int request_spawn(char *data, size_t len, char *strings[REQUEST_STRINGS], struct request_spawn *ret)
{
        struct init_spawn head;
        if (len < sizeof head)
                return -EPROTO;
        memcpy(&head, data, sizeof head);
        if (head.argc == 0 || head.argc > INIT_STRINGS_MAX || head.envc > INIT_STRINGS_MAX - head.argc)
                return -E2BIG;
        char *p = data + sizeof head, *end = data + len;
        uint32_t used = 0;
        *ret = (struct request_spawn){
                .flags = head.flags,
                .columns = head.columns,
                .rows = head.rows,
                .cwd = p,
                .argv = strings,
        };
        for (uint32_t i = 0; i < 1 + head.argc + head.envc; i++) {
                char *nul = memchr(p, '\0', (size_t)(end - p));
                if (!nul)
                        return -EPROTO;
                if (i > 0)
                        strings[used++] = p;
                if (i == head.argc) {
                        strings[used++] = NULL;
                        ret->env = strings + used;
                }
                p = nul + 1;
        }
        strings[used++] = NULL;
        ret->n_strings = used;
        return p == end ? 0 : -EPROTO;
}

int request_operate(const char *data, size_t len, struct request_operate *ret)
{
        if (len < sizeof ret->head)
                return -EPROTO;
        memcpy(&ret->head, data, sizeof ret->head);
        if (ret->head.operation < INIT_READ || ret->head.operation > INIT_WATCH)
                return -ENOSYS;
        const char *p = data + sizeof ret->head, *end = data + len;
        const char *nul = memchr(p, '\0', (size_t)(end - p));
        const char *nul2 = nul ? memchr(nul + 1, '\0', (size_t)(end - nul - 1)) : NULL;
        if (!nul2 || nul2 + 1 != end)
                return -EPROTO;
        if (nul - p >= INIT_PATH_MAX || nul2 - nul > INIT_PATH_MAX)
                return -ENAMETOOLONG;
        ret->path = nul > p ? p : ".";
        ret->path2 = nul + 1;
        return 0;
}

int request_put_file(const char *data, size_t len, struct request_put_file *ret)
{
        struct init_put_file head;
        if (len < sizeof head)
                return -EPROTO;
        memcpy(&head, data, sizeof head);
        size_t rest = len - sizeof head;
        if (head.name_len == 0 || head.name_len >= sizeof ret->name || head.name_len > rest)
                return -ENAMETOOLONG;
        memcpy(ret->name, data + sizeof head, head.name_len);
        ret->name[head.name_len] = '\0';
        if (strlen(ret->name) != head.name_len || strchr(ret->name, '/') || !strcmp(ret->name, ".") ||
            !strcmp(ret->name, ".."))
                return -EINVAL;
        ret->mode = head.mode & (0777 | INIT_IN_WORKSPACE);
        ret->content = data + sizeof head + head.name_len;
        ret->content_len = rest - head.name_len;
        return 0;
}
