#include "cli/client/url.h"

#include <string.h>

static void url_put(struct url *u, const char *text, size_t len)
{
        if (u->len + len >= sizeof u->text) {
                u->too_long = true;
                return;
        }
        memcpy(u->text + u->len, text, len);
        u->len += len;
        u->text[u->len] = '\0';
}

static void put_encoded(struct url *u, const char *text)
{
        static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
        static const char hex[] = "0123456789ABCDEF";
        for (; *text; text++) {
                unsigned char c = (unsigned char)*text;
                const char code[3] = {'%', hex[c >> 4], hex[c & 15]};
                if (strchr(plain, c))
                        url_put(u, text, 1);
                else
                        url_put(u, code, sizeof code);
        }
}

void url_init(struct url *u, const char *path)
{
        u->len = 0;
        u->text[0] = '\0';
        u->query = u->too_long = false;
        url_add(u, path);
}

void url_add(struct url *u, const char *path)
{
        url_put(u, path, strlen(path));
}

void url_add_part(struct url *u, const char *part)
{
        put_encoded(u, part);
}

void url_add_query(struct url *u, const char *name, const char *value)
{
        url_put(u, u->query ? "&" : "?", 1);
        u->query = true;
        put_encoded(u, name);
        url_put(u, "=", 1);
        put_encoded(u, value);
}
