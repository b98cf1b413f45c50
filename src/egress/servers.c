/* egress/servers.c -- see servers.h. */
#include "egress/servers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

struct host { /* its names are in the text, each terminated by NUL */
        struct address address;
        uint32_t name, next; /* offset of its first name; offset of the next host's names */
};

static struct {
        struct address servers[SERVERS_MAX];
        size_t n_servers;
        struct host *hosts;
        size_t n_hosts;
        char *names;
} table;

struct word {
        const char *at;
        size_t length;
};

/* Reads the next word of a line that ends at end or with a comment; false: there is none. */
static bool next_word(const char **at, const char *end, struct word *ret)
{
        while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r'))
                (*at)++;
        ret->at = *at;
        while (*at < end && strchr(" \t\r#", **at) == NULL)
                (*at)++;
        ret->length = (size_t)(*at - ret->at);
        return ret->length > 0;
}

static const char *line_end(const char *at, const char *end)
{
        const char *newline = memchr(at, '\n', (size_t)(end - at));

        return newline != NULL ? newline : end;
}

static void read_resolv(const char *at, const char *end)
{
        table.n_servers = 0;
        for (const char *line = at; line < end && table.n_servers < SERVERS_MAX;) {
                const char *stop = line_end(line, end);
                struct word word;

                if (*line != ';' && next_word(&line, stop, &word) && word.length == 10 &&
                    memcmp(word.at, "nameserver", 10) == 0 && next_word(&line, stop, &word) &&
                    address_parse(word.at, word.length, &table.servers[table.n_servers]) == 0)
                        table.n_servers++;
                line = stop + 1;
        }
        if (table.n_servers == 0) { /* as every libc does */
                address_parse("127.0.0.1", 9, &table.servers[0]);
                table.n_servers = 1;
        }
}

/* Names are never longer than in the text, so there is room for all. */
static void read_hosts(const char *at, const char *end, struct host *hosts, char *names, size_t *ret)
{
        uint32_t used = 0;
        size_t n = 0;

        for (const char *line = at; line < end;) {
                const char *stop = line_end(line, end);
                struct host host = {.name = used};
                struct word word;

                if (next_word(&line, stop, &word) &&
                    address_parse(word.at, word.length, &host.address) == 0) {
                        while (next_word(&line, stop, &word)) {
                                char name[NAME_MAX_BYTES];

                                if (name_normalise(word.at, word.length, name) < 0)
                                        continue;
                                memcpy(names + used, name, strlen(name) + 1);
                                used += (uint32_t)strlen(name) + 1;
                        }
                        host.next = used;
                        if (host.next > host.name)
                                hosts[n++] = host;
                }
                line = stop + 1;
        }
        *ret = n;
}

static size_t count_lines(const char *at, size_t length)
{
        size_t n = 1;

        for (size_t i = 0; i < length; i++)
                n += at[i] == '\n';
        return n;
}

int servers_set(const char *resolv, size_t resolv_length, const char *hosts, size_t hosts_length)
{
        struct host *new_hosts = calloc(count_lines(hosts, hosts_length), sizeof(*new_hosts));
        char *names = malloc(hosts_length + 1);

        if (new_hosts == NULL || names == NULL) {
                free(new_hosts);
                free(names);
                return -ENOMEM;
        }
        free(table.hosts);
        free(table.names);
        table.hosts = new_hosts;
        table.names = names;
        read_hosts(hosts, hosts + hosts_length, table.hosts, table.names, &table.n_hosts);
        read_resolv(resolv, resolv + resolv_length);
        return 0;
}

size_t servers_count(void)
{
        if (table.n_servers == 0)
                read_resolv("", "");
        return table.n_servers;
}

const struct address *servers_get(size_t i)
{
        return &table.servers[i];
}

bool hosts_find(const char *name, struct resolved *ret)
{
        *ret = (struct resolved){.code = DNS_OK};
        for (size_t i = 0; i < table.n_hosts && ret->n < DNS_ADDRESSES_MAX; i++) {
                const struct host *host = &table.hosts[i];

                for (uint32_t at = host->name; at < host->next;
                     at += (uint32_t)strlen(table.names + at) + 1) {
                        if (strcmp(table.names + at, name) == 0) {
                                ret->addresses[ret->n++] = host->address;
                                break;
                        }
                }
        }
        return ret->n > 0;
}
