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
