/* front/routes.h -- the table of routes and its description. */
#pragma once
#include "front/api.h"

extern const struct api_route api_routes[];
extern const size_t api_routes_len;

/* The OpenAPI document of the table: a new reference. */
json_t *openapi_make(void);
