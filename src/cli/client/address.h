/* cli/client/address.h -- where the daemon is, and the key to show: from the command line and the
 * environment.  Nothing is connected here. */
#pragma once
#include <sys/un.h>

#include "cella.h"

#define CLIENT_SOCKET "/run/cella/cella.sock"

struct client_address {
        char socket[sizeof((struct sockaddr_un *)NULL)->sun_path]; /* "": TCP */
        char url[96];                                              /* "http://ADDRESS:PORT" for libcurl */
        char where[160];                                           /* for messages */
        char host[80];                                             /* the Host header */
        const char *key;                                           /* of the environment; may be NULL */
};

/* socket (may be NULL), $CELLA_SOCKET, $CELLA_URL, or the usual place; the key is $CELLA_KEY. */
int client_address_find(const char *socket, struct client_address *ret, struct cella_err *err);
