/* cli/client/head.h -- the head of an answer: its status, and the headers that somebody wants to know.
 * It is foreign: what is too long, unclear or not HTTP is refused as a whole. */
#pragma once
#include <stdint.h>

#include "cli/client/client.h"
#include "cli/client/link.h"

/* Reads one head, also an interim one, and nothing behind it.  until: of clock_us(). */
int client_head_read(struct client_link *c, int64_t until, struct client_answer *ret, struct cella_err *err);
