#include "wire/mounts.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "wire/keeper.h"

#define TARGET_MAX 1024

int mounts_put(char *text, size_t size, size_t *len, const struct mounts_item *item)
{
        const size_t from = strlen(item->source) + 1, to = strlen(item->target) + 1;
        if (size - *len < 1 + from + to)
                return -E2BIG;
        char *at = text + *len;
        *at++ = item->writable ? 'w' : 'r';
        memcpy(at, item->source, from);
        memcpy(at + from, item->target, to);
        *len += 1 + from + to;
        return 0;
}

int mounts_parse(const char *text, size_t len, struct mounts_item *ret, size_t max)
{
        size_t n = 0;
        for (const char *at = text, *end = text + len; at < end; n++) {
                const char *source_end = memchr(at, '\0', (size_t)(end - at));
                const char *target_end =
                        source_end ? memchr(source_end + 1, '\0', (size_t)(end - source_end - 1)) : NULL;
                if (!target_end || n == max || (at[0] != 'r' && at[0] != 'w') || at[1] != '/' ||
                    source_end[1] != '/')
                        return -EINVAL;
                ret[n] = (struct mounts_item){at + 1, source_end + 1, at[0] == 'w'};
                at = target_end + 1;
        }
        return (int)n;
}

const char *mounts_wrong(const struct mounts_item *items, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                const char *target = items[i].target;
                if (strlen(items[i].source) >= KEEPER_PATH_MAX || mounts_target_wrong(target) ||
                    mounts_is_in(target, "/workspace"))
                        return "a bad mount";
                for (size_t j = 0; j < i; j++)
                        if (mounts_is_in(target, items[j].target) || mounts_is_in(items[j].target, target))
                                return "mounts in each other";
        }
        return NULL;
}

bool mounts_is_in(const char *a, const char *b)
{
        size_t len = strlen(b);
        if (len > 0 && b[len - 1] == '/')
                len--;
        return !strncmp(a, b, len) && (a[len] == '/' || a[len] == '\0');
}

const char *mounts_target_wrong(const char *target)
{
        static const char *const reserved[] = {"/proc", "/dev", "/usr",   "/etc",   "/bin",
                                               "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
        if (target[0] != '/' || target[1] == '\0')
                return "must be an absolute path below /";
        if (strlen(target) > TARGET_MAX)
                return "is longer than 1024 characters";
        for (const char *p = target; *p; p++) {
                if ((unsigned char)*p < ' ')
                        return "holds a control character";
                if (*p != '/')
                        continue;
                size_t len = strcspn(p + 1, "/");
                if (len == 0)
                        return "has an empty component";
                if ((len == 1 && p[1] == '.') || (len == 2 && p[1] == '.' && p[2] == '.'))
                        return "has a '.' or '..' component";
        }
        for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
                if (mounts_is_in(target, reserved[i]))
                        return "lies in a directory that the sandbox provides";
        return NULL;
}
