/* egress/control.h -- the socket to the owner, see wire/egress.h.  The process ends when the owner closes
 * it or sends an invalid message. */
#pragma once
#include <stddef.h>

int control_init(int fd);

/* Never blocks: if the owner does not read, messages are dropped. */
void control_report(const void *message, size_t length);
