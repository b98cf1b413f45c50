/* http/handshake.h -- the opening handshake of a WebSocket (RFC 6455, section 4.2). */
#pragma once
#include "http/http.h"

#define HANDSHAKE_ACCEPT_SIZE 29

/* Returns 0, or the status of the refusal and *ret_why. */
int handshake_check(const struct http_request *request, const char **ret_why);
/* Computes Sec-WebSocket-Accept from Sec-WebSocket-Key. */
void handshake_accept(const char *key, char ret[HANDSHAKE_ACCEPT_SIZE]);
