/* front/web/web.h -- the web page: GET / and the files that it loads.  They contain no secrets, so no key is
 * needed. */
#pragma once
#include "front/api.h"

void web_index(struct call *call, json_t *body);
void web_asset(struct call *call, json_t *body);
