/* core/settings/network_fields.h -- the object `network` of the settings and of requests.
 *
 * One message to the egress process contains the lists of both, so each has a share of its size. */
#pragma once
#include "schema/schema.h"
#include "wire/egress.h"

#define NETWORK_SETTINGS_BLOCKED_MAX 900
#define NETWORK_REQUEST_BLOCKED_MAX (EGRESS_PATTERNS_MAX - NETWORK_SETTINGS_BLOCKED_MAX)
#define NETWORK_SETTINGS_TEXT_MAX (64u * 1024)
#define NETWORK_REQUEST_TEXT_MAX (EGRESS_TEXT_MAX - NETWORK_SETTINGS_TEXT_MAX)

const struct field *network_settings_fields(void);
const struct field *network_request_fields(void);

/* Returns the bytes of a list of strings in a message, each with its NUL. */
size_t network_list_bytes(const json_t *list);

/* Checks that the lists of a settings document fit their share of a message. */
int network_check_settings(const json_t *document, struct cella_err *err);
