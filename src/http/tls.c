#include "http/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "http/http.h"

#define CHAIN_MAX 16

struct certificate {
        struct certificate *replaced; /* not freed: a handshake that has begun may still use it */
        gnutls_pcert_st chain[CHAIN_MAX];
        unsigned n;
        gnutls_privkey_t key;
};

static struct certificate *current;

int http_tls_retrieve(gnutls_session_t session, const gnutls_datum_t *issuers, int n_issuers,
                      const gnutls_pk_algorithm_t *algorithms, int n_algorithms, gnutls_pcert_st **ret,
                      unsigned *ret_len, gnutls_privkey_t *ret_key)
{
        (void)session, (void)issuers, (void)n_issuers, (void)algorithms, (void)n_algorithms;
        if (!current)
                return -1;
        *ret = current->chain;
        *ret_len = current->n;
        *ret_key = current->key;
        return 0;
}

static void certificate_free(struct certificate *c)
{
        for (unsigned i = 0; i < c->n; i++)
                gnutls_pcert_deinit(&c->chain[i]);
        if (c->key)
                gnutls_privkey_deinit(c->key);
        free(c);
}

/* Whether the key belongs to the first certificate. */
static int tls_check_pair(const struct certificate *c)
{
        unsigned char of_chain[64], of_key[64];
        size_t n_chain = sizeof of_chain, n_key = sizeof of_key;
        gnutls_pubkey_t public = NULL;
        int r = gnutls_pubkey_init(&public);
        if (r == 0)
                r = gnutls_pubkey_get_key_id(c->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, of_chain, &n_chain);
        if (r == 0)
                r = gnutls_pubkey_import_privkey(public, c->key, 0, 0);
        if (r == 0)
                r = gnutls_pubkey_get_key_id(public, GNUTLS_KEYID_USE_SHA256, of_key, &n_key);
        if (r == 0 && (n_chain != n_key || memcmp(of_chain, of_key, n_key) != 0))
                r = GNUTLS_E_CERTIFICATE_KEY_MISMATCH;
        if (public)
                gnutls_pubkey_deinit(public);
        return r;
}

int http_tls_load(const char *pem, size_t len, struct cella_err *err)
{
        const gnutls_datum_t text = {.data = (unsigned char *)pem, .size = (unsigned)len};
        struct certificate *c = calloc(1, sizeof *c);
        const char *what = "certificate";
        unsigned n = CHAIN_MAX;
        if (!c)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "TLS");
        int r = gnutls_pcert_list_import_x509_raw(c->chain, &n, &text, GNUTLS_X509_FMT_PEM, 0);
        if (r == 0) {
                c->n = n;
                what = "key";
                r = gnutls_privkey_init(&c->key);
        }
        if (r == 0)
                r = gnutls_privkey_import_x509_raw(c->key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
        if (r == 0)
                r = tls_check_pair(c);
        if (r < 0) {
                certificate_free(c);
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "the TLS %s cannot be used: %.120s", what,
                               gnutls_strerror(r));
        }
        c->replaced = current;
        current = c;
        return 0;
}

void http_tls_send(gnutls_session_t session, const struct iovec *parts, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                const char *at = parts[i].iov_base;
                for (size_t left = parts[i].iov_len; left > 0;) {
                        ssize_t sent = gnutls_record_send(session, at, left);
                        if (sent <= 0)
                                return;
                        at += sent;
                        left -= (size_t)sent;
                }
        }
        gnutls_bye(session, GNUTLS_SHUT_WR);
}
