/* front/tools/http.h -- the tools over HTTP: /v1/tools. */
#pragma once
#include "front/api.h"

void tools_http_list(struct call *call, json_t *body);
void tools_http_call(struct call *call, json_t *body);
