/* core/pool/learned.h -- pools whose template contains modules that executions of one key often import.
 *
 *  an execution ends ──► learned_count() ──► learn.c counts ──► learned_tick(), when the machine is idle:
 *  a pool like the one of the settings, with more modules in its template ──► learned_made(): it fits into
 *  the memory and replaces the last one.
 *
 * Such a pool serves only executions of its key that name one of these modules, and only this key and the
 * owner see it.  The setting learning.memory_bytes is divided evenly among the keys that ran most Python code
 * lately: what a key can learn depends on how much others run, but not on what they import.  The modules come
 * from the image: the sandbox in which a template is made has no session and no packages of one. */
#pragma once
#include "core/pool/member.h"

struct learner;

/* Call when code of this key has run in a sandbox with this image. */
void learned_count(struct core *core, const char *key, const char *image, const struct exec_request *request);
/* Called by a timer: lets counts fade, keeps to the memory limit, and starts to make a template if one is
 * wanted and the machine is idle. */
void learned_tick(struct core *core);
/* Returns the modules to send to the maker of its template. */
json_t *learned_preload(const struct pool *pool);
/* Call when the template of such a pool was made, or could not be made.  May free the pool. */
void learned_made(struct pool *pool);
/* Moves such pools back from the list of old ones if the settings still have their pool. */
void learned_keep(struct core *core, struct list *old);
/* Call before such a pool is freed. */
void learned_forget(struct pool *pool);
/* Whether it has a template for this key. */
bool learned_serves(const struct pool *pool, const char *key);
/* Whether it serves this request of that key. */
bool learned_fits(const struct pool *pool, const char *key, const struct exec_request *request);
/* Frees all learners; after the pools. */
void learned_stop(struct core *core);
/* Returns the fields of such a pool for GET /v1/pools. */
json_t *learned_to_json(const struct pool *pool);
