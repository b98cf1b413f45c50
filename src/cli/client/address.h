/* cli/client/address.h -- the address of the daemon and the API key, from the command line and the
 * environment.  Does not connect. */
#pragma once
#include <sys/un.h>

#include "cella.h"

#define CLIENT_SOCKET "/run/cella/cella.sock"

struct client_address {
        char socket[sizeof((struct sockaddr_un *)NULL)->sun_path]; /* "": TCP */
        char url[96];                                              /* "http://ADDRESS:PORT" for libcurl */
        char where[160];                                           /* for messages */
        char host[80];                                             /* the Host header */
        const char *key;                                           /* from the environment; may be NULL */
};

/* Sources in this order: socket (may be NULL), $CELLA_SOCKET, $CELLA_URL, the default path.  The key is
 * $CELLA_KEY. */
int client_address_find(const char *socket, struct client_address *ret, struct cella_err *err);
