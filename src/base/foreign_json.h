/* base/foreign_json.h -- parses JSON that comes from outside (registries, archives, container engines) with
 * jansson.
 *
 * jansson bounds neither the number of values nor, tightly enough, the depth.  Both are checked before it
 * parses.  Duplicate keys, control characters in strings, invalid UTF-8 and numbers that do not fit are
 * refused. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"

#define FOREIGN_JSON_DEPTH_MAX 64

/* Prepares jansson; call it once at the start of the program, before its system calls are restricted.  From
 * then on, memory of jansson is overwritten before it is freed (it may hold passwords), and the process is
 * aborted if jansson gets no memory: its parser writes past a buffer after a failed allocation.  no_memory is
 * called before; NULL: nothing is called. */
void foreign_json_init(void (*no_memory)(void));

/* Parses text, which may be any JSON value.  flags: further flags of jansson.  Returns a new reference, or
 * NULL with *err set: CELLA_INVALID_REQUEST (not JSON), CELLA_TOO_LARGE (too deep, more than values_max
 * values). */
json_t *foreign_json_parse(const char *text, size_t len, size_t values_max, size_t flags,
                           struct cella_err *err);

/* The string that is the value, or NULL if it is none or contains a NUL character (which would hide the
 * rest). Borrowed from the value. */
const char *foreign_json_text(const json_t *value);
/* The same for a member of an object; NULL also if object is NULL or no object. */
const char *foreign_json_get_text(const json_t *object, const char *name);

/* Stores a member that is an integer and returns true; otherwise returns false and leaves *ret as it is. */
bool foreign_json_get_integer(const json_t *object, const char *name, int64_t *ret);

/* Whether the member is missing or null. */
bool foreign_json_is_absent(const json_t *object, const char *name);

DEFINE_AUTO(json_t *, json_decref)
