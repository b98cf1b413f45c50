/* http/tls.h -- the certificate of the TLS listeners, and what MHD needs to use it.
 *
 * One certificate per process: GnuTLS's callback has no argument for the caller. */
#pragma once
#include <gnutls/abstract.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "cella.h"

#define HTTP_TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
#define HTTP_TLS_HELLO 0x16 /* first byte of every TLS connection */

/* Returns the certificate for a new connection: MHD_OPTION_HTTPS_CERT_CALLBACK. */
int http_tls_retrieve(gnutls_session_t session, const gnutls_datum_t *issuers, int n_issuers,
                      const gnutls_pk_algorithm_t *algorithms, int n_algorithms, gnutls_pcert_st **ret,
                      unsigned *ret_len, gnutls_privkey_t *ret_key);

/* Sends all of parts if they fit, then the end of the connection. */
void http_tls_send(gnutls_session_t session, const struct iovec *parts, size_t n);
