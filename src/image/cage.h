/* image/cage.h -- cella-image's own walls. */
#pragma once
#include "cella.h"

/* No new privilege, no debugger, no core; from here on files are opened below the store only (and read where
 * names and certificates are looked up), nothing is executed, nobody is signalled, and sockets are of TCP and
 * UDP only. */
int cage_enter(int store, struct cella_err *err);
