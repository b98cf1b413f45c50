/* egress/hello.h -- extracts the server name from a TLS ClientHello, however it is fragmented. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "egress/policy/name.h"

#define HELLO_MAX 32768u /* bytes; longer messages are refused */

/* data: everything received so far.  Returns 1: *ret_name is set (normalised); 0: more data is needed;
 * -EPROTO: not a ClientHello, or malformed; -ENOENT: no server_name; -EINVAL: an invalid name, an address,
 * or several names; -EMSGSIZE: too long.  Messages fragmented into records of any size are reassembled.
 * Further records may follow (early data), but the last record must end with the message.  With ECH, this
 * is the outer name, which is the one that the server's address is looked up by. */
int hello_read(const uint8_t *data, size_t length, char ret_name[NAME_MAX_BYTES]);
