/* egress/hello.h -- the server's name in a TLS ClientHello, whatever pieces it comes in. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "egress/name.h"

#define HELLO_MAX 32768u /* bytes; a longer one is refused */

/* data: all that has come so far.  1: *ret_name is there (normalised).  0: more is needed.  Negative: -EPROTO
 * (not a ClientHello, or a broken one), -ENOENT (it has no server_name), -EINVAL (a name that is none, an
 * address, or more than one), -EMSGSIZE.  Records of any size that hold parts of the message are put
 * together; records may follow it (early data), but nothing in its last one.  With ECH it is the outer name:
 * the one that the server's address is looked up by. */
int hello_read(const uint8_t *data, size_t length, char ret_name[NAME_MAX_BYTES]);
