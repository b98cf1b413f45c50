/* keeper/process/listen.h -- the sockets that the server listens on. */
#pragma once
#include "cella.h"

/* Checks the two addresses before anything is created.  NULL: not used. */
int listen_check(const char *tcp, const char *path, struct cella_err *err);

/* ADDRESS:PORT, with brackets around an IPv6 address.  Returns the descriptor. */
int listen_tcp(const char *text, struct cella_err *err);

/* Listens on a socket that every user can connect to: the server decides by the uid of the peer.  Makes the
 * directory if needed.  Replaces a socket on which no process listens; waits a moment for a killed server to
 * exit.  Returns the descriptor. */
int listen_unix(const char *path, struct cella_err *err);
