/* keeper/process/listen.h -- the sockets that the server listens on. */
#pragma once
#include "cella.h"

/* Says what is wrong with how they are given, before anything is made.  NULL: none. */
int listen_check(const char *tcp, const char *path, struct cella_err *err);

/* ADDRESS:PORT, with brackets around an IPv6 address.  Returns the descriptor. */
int listen_tcp(const char *text, struct cella_err *err);

/* For everybody: who may do what is decided by who is at the other end.  A socket that nobody
 * listens on any more is replaced; its directory is made if it is not there.  What was killed a moment ago
 * may take a moment to go. */
int listen_unix(const char *path, struct cella_err *err);
