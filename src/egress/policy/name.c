/* egress/policy/name.c -- see name.h.  There is only one valid form: names that two programs could interpret
 * differently are a way to evade lists. */
#include "egress/policy/name.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define LABEL_MAX 63u

/* Own functions, because those of <ctype.h> depend on the locale. */
static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
        return is_digit(c) || (c >= 'a' && c <= 'f');
}

static char name_lower(char c)
{
        if (c >= 'A' && c <= 'Z')
                return (char)(c - 'A' + 'a');
        return c;
}

/* Returns true if some inet_aton() would parse it as a number: 127, 0177, 0x7f, and also 0x, which some
 * parse as 0. */
static bool is_number(const char *label, size_t length)
{
        bool (*fits)(char) = is_digit;

        if (length >= 2 && label[0] == '0' && label[1] == 'x') {
                fits = is_hex;
                label += 2;
                length -= 2;
        }
        for (size_t i = 0; i < length; i++)
                if (!fits(label[i]))
                        return false;
        return true;
}

static bool is_label(const char *label, size_t length)
{
        if (length == 0 || length > LABEL_MAX || label[0] == '-' || label[length - 1] == '-')
                return false;
        for (size_t i = 0; i < length; i++)
                if (!is_digit(label[i]) && (label[i] < 'a' || label[i] > 'z') && label[i] != '-' &&
                    label[i] != '_')
                        return false;
        return true;
}

int name_normalise(const char *text, size_t length, char ret[NAME_MAX_BYTES])
{
        char name[NAME_MAX_BYTES];
        size_t begin = 0;

        if (length > 0 && text[length - 1] == '.')
                length--;
        if (length == 0 || length >= NAME_MAX_BYTES)
                return -EINVAL;
        for (size_t i = 0; i < length; i++)
                name[i] = name_lower(text[i]);
        name[length] = '\0';

        for (size_t i = 0; i <= length; i++) {
                if (i < length && name[i] != '.')
                        continue;
                if (!is_label(name + begin, i - begin))
                        return -EINVAL;
                /* Everything that can be parsed as an address ends in a number; no domain does. */
                if (i == length && is_number(name + begin, i - begin))
                        return -EINVAL;
                begin = i + 1;
        }
        memcpy(ret, name, length + 1);
        return 0;
}
