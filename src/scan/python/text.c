/* scan/python/text.c -- evaluates Python literals. */
#include <ctype.h>
#include <string.h>

#include "scan/escape.h"
#include "scan/python/python.h"

#define PIECES_MAX 64

struct prefix {
        bool raw, bytes;
};

static void python_constant(struct program *p, TSNode node, struct prefix prefix, struct values *ret)
{
        size_t len;
        const char *text = source_text(p->source, node, &len);
        struct value value = {.kind = VALUE_TEXT, .text = text, .len = (uint32_t)len};
        if (!prefix.raw && memchr(text, '\\', len)) {
                char *plain = len <= VALUE_TEXT_MAX ? arena_alloc(&p->arena, len + 1) : NULL;
                if (!plain) {
                        ret->other = true;
                        return;
                }
                value.len = (uint32_t)escape_decode(prefix.bytes ? ESCAPES_PYTHON_BYTES : ESCAPES_PYTHON,
                                                    text, len, plain);
                value.text = plain;
        }
        values_add(ret, &value);
}

static void python_piece(struct program *p, TSNode node, struct prefix *prefix, uint32_t scope,
                         struct values *ret)
{
        TSNode inner;
        size_t len;
        const char *text;
        *ret = (struct values){0};
        switch (source_kind(p->source, node)) {
        case PY_STRING_START:
                text = source_text(p->source, node, &len);
                for (size_t i = 0; i < len && isalpha((unsigned char)text[i]); i++) {
                        prefix->raw |= tolower((unsigned char)text[i]) == 'r';
                        prefix->bytes |= tolower((unsigned char)text[i]) == 'b';
                }
                break;
        case PY_STRING_CONTENT:
                python_constant(p, node, *prefix, ret);
                return;
        case PY_INTERPOLATION:
                if (source_children(p->source, node, &inner, 1) == 1)
                        program_evaluate(p, inner, scope, ret);
                else
                        ret->other = true;
                return;
        case PY_STRING: /* one of several adjacent strings */
                python_string(p, node, scope, ret);
                return;
        default:
                break;
        }
        values_add(ret, &(struct value){.kind = VALUE_TEXT, .text = ""});
}

void python_string(struct program *p, TSNode node, uint32_t scope, struct values *ret)
{
        TSNode pieces[PIECES_MAX];
        struct prefix prefix = {0};
        struct values whole = {0}, part;
        size_t n = source_children(p->source, node, pieces, PIECES_MAX);
        values_add(&whole, &(struct value){.kind = VALUE_TEXT, .text = ""});
        for (size_t i = 0; i < n; i++) {
                python_piece(p, pieces[i], &prefix, scope, &part);
                values_append(&whole, &p->arena, JOIN_CONCAT, &part);
        }
        if (n == PIECES_MAX)
                whole.other = true;
        values_add_all(ret, &whole);
}
