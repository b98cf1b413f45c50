/* egress/servers.h -- the contents of /etc/resolv.conf and /etc/hosts, which the owner has sent. */
#pragma once
#include <stddef.h>

#include "egress/cache.h"

#define SERVERS_MAX 3u

/* Parses both texts; lines that are not understood are ignored, as resolvers do.  On -ENOMEM, nothing
 * changes. */
int servers_set(const char *resolv, size_t resolv_length, const char *hosts, size_t hosts_length);

/* The number of servers (at least one: 127.0.0.1), and one of them. */
size_t servers_count(void);
const struct address *servers_get(size_t i);

/* Returns true if hosts contains the name. */
bool hosts_find(const char *name, struct resolved *ret);
