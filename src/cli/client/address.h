/* cli/client/address.h -- where the daemon is, and who we are to it: by the command line and the environment.
 * Nothing is connected here. */
#pragma once
#include <sys/socket.h>

#include "cella.h"

struct client_address {
        struct sockaddr_storage address;
        socklen_t len;
        char where[160]; /* for messages */
        char host[80];   /* the Host header */
        const char *key; /* of the environment; may be NULL */
};

/* socket (may be NULL), $CELLA_SOCKET, $CELLA_URL, or the usual place; the key is $CELLA_KEY. */
int client_address_find(const char *socket, struct client_address *ret, struct cella_err *err);
