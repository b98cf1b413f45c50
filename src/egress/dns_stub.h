/* egress/dns_stub.h -- answers DNS queries of sandboxes.
 *
 * A name that the policy refuses is answered with NXDOMAIN, and no query is sent for it.  Other names are
 * resolved, so that missing names are reported as missing; existing names get a synthetic address
 * (synthetic.h).  Query types other than addresses get an empty answer. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/sandbox.h"

/* Processes some UDP queries.  Returns true if there may be more. */
bool dns_stub_serve(struct egress_sandbox *sandbox);
/* A client over TCP, which has at most one active query. */
struct dns_client {
        struct question *question; /* the active query; NULL: none */
        void (*reply)(struct dns_client *client, const uint8_t *answer, size_t length);
        void (*done)(struct dns_client *client); /* the active query has ended; the next may be sent */
};
/* Processes a query of at most DNS_MESSAGE_MAX bytes.  Replies now, or later if client->question is set. */
void dns_stub_ask(struct egress_sandbox *sandbox, struct dns_client *client, const uint8_t *message,
                  size_t length);
/* Drop the client's active query, if any, and all queries of a sandbox. */
void dns_stub_forget(struct dns_client *client);
void dns_stub_drop(struct egress_sandbox *sandbox);
