/* base/json.h -- writes JSON (jansson, which only the server has, owns the shorter names).  Strings are made
 * valid UTF-8: what is not becomes U+FFFD. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
        FILE *out;
        bool more; /* the next value needs a comma */
};

/* In an object, every value takes a key; in an array and at the top, key is NULL. */
void json_put_open(struct json *j, const char *key, char bracket);
void json_put_close(struct json *j, char bracket);
void json_put_string(struct json *j, const char *key, const char *text);
void json_put_bytes(struct json *j, const char *key, const char *data, size_t len);
void json_put_base64(struct json *j, const char *key, const char *data, size_t len);
void json_put_number(struct json *j, const char *key, uint64_t value);
void json_put_real(struct json *j, const char *key, double value); /* three decimals */
void json_put_bool(struct json *j, const char *key, bool value);
void json_put_null(struct json *j, const char *key);
void json_put_raw(struct json *j, const char *key, const char *json, size_t len); /* a value as it is */

/* A stream into memory for long documents: open_memstream() copies what it has, and clears the rest, each
 * time it grows.  After fclose() data is the text with a NUL behind it, to be freed; NULL: there was no
 * memory. */
struct json_text {
        char *data;
        size_t len, size;
};
/* expected is a guess.  NULL: no memory. */
FILE *json_text_open(struct json_text *ret, size_t expected);
