#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "secret/mask.h"
#include "secret/mask_parts.h"

size_t mask_trim(const char *text, size_t len, size_t *ret_from)
{
        size_t from = 0;
        while (from < len && strchr(" \t\r\n\f\v", text[from]) && text[from])
                from++;
        while (len > from && strchr(" \t\r\n\f\v", text[len - 1]) && text[len - 1])
                len--;
        *ret_from = from;
        return len - from;
}

/* Returns true if text that starts with these one or two bytes may be this form. */
static bool secret_mask_begins(const struct form *form, const char *text, size_t len)
{
        uint32_t symbols;
        int n = form_read(form, 0, text, len, &symbols);
        return n != 0 &&
               (n == FORM_MORE || (size_t)n >= len || form_read(form, symbols, text + n, 1, &symbols) != 0);
}

static int add_beginning(struct mask *mask, size_t form, const char *text)
{
        uint16_t pair = mask_pair(text);
        if (mask->n_beginnings == mask->room) {
                size_t room = mask->room ? mask->room * 2 : 256;
                struct beginning *more = realloc(mask->beginnings, room * sizeof *more);
                if (!more)
                        return -ENOMEM;
                mask->beginnings = more;
                mask->room = room;
        }
        mask->beginnings[mask->n_beginnings++] = (struct beginning){.pair = pair, .form = (uint16_t)form};
        mask->pairs[pair >> 3] |= (uint8_t)(1u << (pair & 7));
        return 0;
}

static int add_beginnings(struct mask *mask, size_t number)
{
        const struct form *form = &mask->forms[number];
        char bytes[FORM_BYTES_MAX];
        size_t n = form_first_bytes(form, bytes);
        for (size_t i = 0; i < n; i++) {
                char text[2] = {bytes[i]};
                if (!secret_mask_begins(form, text, 1))
                        continue;
                mask->first[(unsigned char)bytes[i]] |= form->line_start ? BEGINS_LINE : BEGINS;
                for (size_t k = 0; k < n; k++) {
                        text[1] = bytes[k];
                        if (secret_mask_begins(form, text, 2) && add_beginning(mask, number, text) < 0)
                                return -ENOMEM;
                }
        }
        return 0;
}

static int by_pair(const void *a, const void *b)
{
        const struct beginning *x = a, *y = b;
        return x->pair != y->pair ? x->pair - y->pair : x->form - y->form;
}

static int add_value(struct mask *mask, const char *text, size_t len)
{
        for (unsigned i = 0; i < FORMS_OF_VALUE; i++) {
                if (!form_init(&mask->forms[mask->n_forms], i, text, len))
                        continue;
                int r = add_beginnings(mask, mask->n_forms++);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_values(const struct mask_value *values, size_t n, size_t *ret_total, struct cella_err *err)
{
        size_t total = 0, from;
        if (n > MASK_VALUES_MAX)
                return err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "more than %d secrets", MASK_VALUES_MAX);
        for (size_t i = 0; i < n; i++) {
                total += values[i].len;
                if (mask_trim(values[i].text, values[i].len, &from) < MASK_VALUE_MIN)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                       "the value of a secret is shorter than %d bytes", MASK_VALUE_MIN);
                if (values[i].len > MASK_VALUE_MAX || total > MASK_BYTES_MAX)
                        return err_say(err, CELLA_TOO_LARGE, -E2BIG,
                                       "the secrets of one execution have more than %u bytes in total",
                                       MASK_BYTES_MAX);
        }
        *ret_total = total;
        return 0;
}

static int secret_mask_fill(struct mask *mask, const struct mask_value *values, size_t n, size_t total)
{
        mask->values = sodium_malloc(total);
        mask->forms = calloc(n * FORMS_OF_VALUE, sizeof *mask->forms);
        mask->borders = calloc(n * FORMS_OF_VALUE, sizeof *mask->borders);
        if (!mask->values || !mask->forms || !mask->borders)
                return -ENOMEM;
        char *to = mask->values;
        for (size_t i = 0; i < n; i++) {
                size_t from, len = mask_trim(values[i].text, values[i].len, &from);
                memcpy(to, values[i].text + from, len);
                int r = add_value(mask, to, len);
                if (r < 0)
                        return r;
                to += len;
        }
        qsort(mask->beginnings, mask->n_beginnings, sizeof *mask->beginnings, by_pair);
        return 0;
}

int mask_new(const struct mask_value *values, size_t n, struct mask **ret, struct cella_err *err)
{
        AUTO(mask_free) struct mask *mask = NULL;
        size_t total = 0;
        int r = check_values(values, n, &total, err);
        if (r < 0)
                return r;
        if (n == 0) {
                *ret = NULL;
                return 0;
        }
        if (sodium_init() < 0)
                return err_say(err, CELLA_INTERNAL, -EIO, "libsodium cannot start");
        mask = calloc(1, sizeof *mask);
        r = mask ? secret_mask_fill(mask, values, n, total) : -ENOMEM;
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot prepare to mask secrets");
        *ret = TAKE(mask);
        return 0;
}

struct mask *mask_free(struct mask *mask)
{
        if (!mask)
                return NULL;
        for (size_t i = 0; i < mask->n_forms; i++)
                free(mask->borders[i]); /* contains positions of repetitions, not the value */
        free(mask->borders);
        free(mask->forms);
        sodium_free(mask->values);
        mask_wipe(mask->beginnings, mask->room * sizeof *mask->beginnings);
        mask_wipe(mask, sizeof *mask);
        return NULL;
}

const uint32_t *mask_borders(struct mask *mask, size_t number)
{
        const struct form *form = &mask->forms[number];
        if (mask->borders[number])
                return mask->borders[number];
        uint32_t *border = malloc(((size_t)form->n + 1) * sizeof *border), k = 0;
        if (!border)
                return NULL;
        border[0] = border[1] = 0;
        for (uint32_t i = 1; i < form->n; i++) {
                while (k > 0 && form_symbol(form, i) != form_symbol(form, k))
                        k = border[k];
                k += form_symbol(form, i) == form_symbol(form, k);
                border[i + 1] = k;
        }
        return mask->borders[number] = border;
}
