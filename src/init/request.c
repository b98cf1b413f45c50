#include "init/request.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct strings {
        char *p, *end; /* the unread bytes */
        char **slots;
        uint32_t used;
};

static char *take_one(struct strings *s)
{
        char *text = s->p, *nul = memchr(text, '\0', (size_t)(s->end - text));
        if (!nul)
                return NULL;
        s->p = nul + 1;
        return text;
}

/* Reads n strings and appends NULL. */
static char **request_take(struct strings *s, uint32_t n)
{
        char **list = s->slots + s->used;
        for (; n > 0; n--)
                if (!(s->slots[s->used++] = take_one(s)))
                        return NULL;
        s->slots[s->used++] = NULL;
        return list;
}

static bool too_many(const struct init_spawn *head)
{
        uint64_t all =
                (uint64_t)head->argc + head->envc + head->first_argc + head->first_envc + head->check_argc;
        return head->argc == 0 || all > INIT_STRINGS_MAX || (head->first_argc == 0 && head->first_envc > 0);
}

int request_spawn(char *data, size_t len, char *strings[REQUEST_STRINGS], struct request_spawn *ret)
{
        struct init_spawn head;
        if (len < sizeof head)
                return -EPROTO;
        memcpy(&head, data, sizeof head);
        if (too_many(&head))
                return -E2BIG;
        struct strings s = {.p = data + sizeof head, .end = data + len, .slots = strings};
        *ret = (struct request_spawn){.flags = head.flags, .columns = head.columns, .rows = head.rows};
        if (!(ret->cwd = take_one(&s)) || !(ret->argv = request_take(&s, head.argc)) ||
            !(ret->first_env = request_take(&s, head.first_envc + head.envc)))
                return -EPROTO;
        ret->env = ret->first_env + head.first_envc;
        if (head.first_argc > 0 &&
            (!(ret->first_cwd = take_one(&s)) || !(ret->first_argv = request_take(&s, head.first_argc))))
                return -EPROTO;
        if (head.check_argc > 0 &&
            (!(ret->version = take_one(&s)) || !(ret->check_argv = request_take(&s, head.check_argc))))
                return -EPROTO;
        ret->n_strings = s.used;
        return s.p == s.end ? 0 : -EPROTO;
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
