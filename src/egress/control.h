/* egress/control.h -- the socket to our owner, see wire/egress.h.  When that ends, or says what it must not,
 * so do we. */
#pragma once
#include <stddef.h>

int control_init(int fd);

/* Never blocks: an owner that does not read hears less. */
void control_tell(const void *message, size_t length);
