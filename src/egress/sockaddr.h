/* egress/sockaddr.h -- converts between struct address and the kernel's socket addresses. */
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "egress/policy/address.h"

union sockaddr_any {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
};

/* Returns the size. */
static inline size_t sockaddr_write(const struct address *address, uint16_t port, union sockaddr_any *ret)
{
        memset(ret, 0, sizeof(*ret));
        if (address_is_v4(address)) {
                ret->v4.sin_family = AF_INET;
                ret->v4.sin_port = htons(port);
                memcpy(&ret->v4.sin_addr, address->bytes + 12, 4);
                return sizeof(ret->v4);
        }
        ret->v6.sin6_family = AF_INET6;
        ret->v6.sin6_port = htons(port);
        memcpy(&ret->v6.sin6_addr, address->bytes, 16);
        return sizeof(ret->v6);
}

/* Returns the port. */
static inline uint16_t sockaddr_read(const union sockaddr_any *from, struct address *ret)
{
        if (from->any.sa_family == AF_INET) {
                memset(ret->bytes, 0, 10);
                memset(ret->bytes + 10, 0xff, 2);
                memcpy(ret->bytes + 12, &from->v4.sin_addr, 4);
                return ntohs(from->v4.sin_port);
        }
        memcpy(ret->bytes, &from->v6.sin6_addr, 16);
        return ntohs(from->v6.sin6_port);
}
