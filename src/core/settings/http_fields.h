/* core/settings/http_fields.h -- the setting `http`: names and proxies of the HTTP server. */
#pragma once
#include "schema/schema.h"

const struct field *http_settings_fields(void);

/* Whether `trusted_proxies` of the settings contains this address. */
bool http_settings_is_address(const char *text, size_t len);
bool http_settings_trusts(const json_t *document, const char *address, size_t len);
