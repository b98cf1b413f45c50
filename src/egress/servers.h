/* egress/servers.h -- /etc/resolv.conf and /etc/hosts, as their texts came from our owner. */
#pragma once
#include <stddef.h>

#include "egress/cache.h"

#define SERVERS_MAX 3u

/* Takes both over; what is not understood in them is left out, as resolvers do.  -ENOMEM: all is as it was.
 */
int servers_set(const char *resolv, size_t resolv_length, const char *hosts, size_t hosts_length);

/* How many there are (one at least: 127.0.0.1), and one of them. */
size_t servers_count(void);
const struct address *servers_get(size_t i);

/* Whether hosts has the name. */
bool hosts_find(const char *name, struct resolved *ret);
