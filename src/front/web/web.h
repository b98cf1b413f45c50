/* front/web/web.h -- the web page: GET / and what it loads.  Nothing in it is secret: no key is needed. */
#pragma once
#include "front/api.h"

void web_index(struct call *call, json_t *body);
void web_asset(struct call *call, json_t *body);
