/* base/json.h -- writes JSON.  (The shorter names belong to jansson.)  Invalid
 * UTF-8 in strings is replaced by U+FFFD. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
        FILE *out;
        bool more; /* the next value needs a comma */
};

/* Inside an object, every value needs a key.  Inside an array and at the top level, key is NULL. */
void json_put_open(struct json *j, const char *key, char bracket);
void json_put_close(struct json *j, char bracket);
void json_put_string(struct json *j, const char *key, const char *text);
void json_put_bytes(struct json *j, const char *key, const char *data, size_t len);
void json_put_base64(struct json *j, const char *key, const char *data, size_t len);
void json_put_number(struct json *j, const char *key, uint64_t value);
void json_put_real(struct json *j, const char *key, double value); /* three decimals */
void json_put_bool(struct json *j, const char *key, bool value);
void json_put_null(struct json *j, const char *key);
void json_put_raw(struct json *j, const char *key, const char *json,
                  size_t len); /* json is copied unchanged */

/* An output stream into memory for long documents.  open_memstream() copies its contents and clears the
 * rest each time it grows.  After fclose(), data is the text with a terminating NUL, which the caller
 * frees; NULL if there was not enough memory. */
struct json_text {
        char *data;
        size_t len, size;
};
/* expected is an estimate of the length.  Returns NULL if there is not enough memory. */
FILE *json_text_open(struct json_text *ret, size_t expected);
