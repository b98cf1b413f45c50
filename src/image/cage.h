/* image/cage.h -- isolation of cella-image itself. */
#pragma once
#include "cella.h"

/* Disables new privileges, debuggers and core dumps.  From then on files are opened only below the store (and
 * read where names and certificates are looked up), nothing is executed, no signals are sent, and only TCP
 * and UDP sockets are created. */
int image_cage_enter(int store, struct cella_err *err);
