/* cli/admin/tls.h -- certificate and key of `cella serve --tls-cert FILE --tls-key FILE`.
 *
 * This process reads the files with its own rights and copies them to a file in memory, which the server
 * inherits for reading.  So the server's user needs no access to the key on disk, and a reload works without
 * another descriptor. */
#pragma once
#include <stdbool.h>

#include "cella.h"

struct serve_tls {
        const char *cert, *key;
        unsigned server_uid, server_gid;
        int memory, for_server; /* the same file; -1: TLS is not used */
};
#define SERVE_TLS_NONE ((struct serve_tls){.memory = -1, .for_server = -1})

/* Opens both descriptors and reads the files. */
int serve_tls_open(struct serve_tls *tls, struct cella_err *err);
/* Reads the files again.  On failure the content in memory stays. */
int serve_tls_read(struct serve_tls *tls, struct cella_err *err);
void serve_tls_done(struct serve_tls *tls);
