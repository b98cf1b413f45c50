/* cli/client/address.h -- the address of the daemon and the API key, from the command line and the
 * environment.  Does not connect. */
#pragma once
#include <stdbool.h>
#include <sys/un.h>

#include "cella.h"

#define CLIENT_SOCKET "/run/cella/cella.sock"

struct client_address {
        char socket[sizeof((struct sockaddr_un *)NULL)->sun_path]; /* "": TCP */
        char url[288];                                             /* "http://ADDRESS:PORT" for libcurl */
        char where[288];                                           /* for messages */
        char host[272];                                            /* the Host header */
        const char *key;                                           /* from the environment; may be NULL */
        bool tls;                                                  /* https */
        const char *ca; /* file with certificates to trust; NULL: those of the system */
};

/* Sources in this order: socket (may be NULL), $CELLA_SOCKET, $CELLA_URL, the default path.  The key is
 * $CELLA_KEY, the certificates are in $CELLA_CA_FILE. */
int client_address_find(const char *socket, struct client_address *ret, struct cella_err *err);
