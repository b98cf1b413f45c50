/* secret/name.h -- names, sizes and times of secrets, and the variables that contain them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECRET_NAME_MAX 64
#define SECRET_NAME_SIZE (SECRET_NAME_MAX + 1)
#define SECRET_NAME_RULE "a letter or _, then letters, digits, '_', '.' and '-', at most 64 in all"
#define SECRET_VARIABLE_MAX 128
#define SECRET_VARIABLE_RULE "a letter or _, then letters, digits and _, at most 128 in all"
#define SECRET_VALUE_MIN 4 /* bytes, without surrounding white space: see mask.h */
#define SECRET_VALUE_MAX 65536
#define SECRETS_MAX 1000
#define SECRET_FILE "secrets" /* in the state directory */

struct secret_about {
        char name[SECRET_NAME_SIZE];
        int64_t created_ms, changed_ms;
};

static inline bool secret_name_is(const char *text, size_t len, size_t max, const char *more)
{
        for (size_t i = 0; i < len; i++) {
                char c = text[i];
                bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
                bool later = c >= '0' && c <= '9';
                for (const char *m = more; *m; m++)
                        later |= c == *m;
                if (!letter && (!later || i == 0))
                        return false;
        }
        return len > 0 && len <= max;
}

static inline bool secret_name_valid(const char *text, size_t len)
{
        return secret_name_is(text, len, SECRET_NAME_MAX, ".-");
}

static inline bool secret_variable_valid(const char *text, size_t len)
{
        return secret_name_is(text, len, SECRET_VARIABLE_MAX, "");
}
