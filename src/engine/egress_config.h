/* engine/egress_config.h -- how this host resolves names, for the egress process, which may open no file. */
#pragma once
#include <stddef.h>

#include "wire/egress.h"

#define EGRESS_CONFIG_BYTES (sizeof(struct egress_config) + EGRESS_CONFIG_MAX)

/* Fills in an EGRESS_CONFIG of /etc/resolv.conf and /etc/hosts as they are now, of each as many whole lines
 * as there is room for.  Returns its length. */
size_t egress_config_fill(char packet[EGRESS_CONFIG_BYTES]);
