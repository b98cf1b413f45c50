/* egress/dns_stub.h -- answers the sandbox's DNS questions.
 *
 * A name that the policy refuses does not exist (NXDOMAIN), and nothing of it goes anywhere.  Others are
 * asked for, so that what does not exist does not; those that do get an address of ours (synthetic.h).  Other
 * types than addresses have no data. */
#pragma once
#include <stdbool.h>

#include "egress/connection.h"
#include "egress/sandbox.h"

/* Some questions that came by UDP.  True: there may be more. */
bool dns_stub_serve(struct sandbox *sandbox);
/* Those of a connection to port 53. */
bool dns_stub_stream(struct connection *c);
/* Forgets what is under way. */
void dns_stub_forget(struct connection *c);
void dns_stub_drop(struct sandbox *sandbox);
