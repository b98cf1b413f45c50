/* scan/python_dull.c -- of most code that is sent to be run, no word is one that any rule knows.
 *
 * What a rule finds in Python has a name: of a module, a function, a method, an attribute.  Where no word of
 * the text, be it in a string or a comment, is or could become one (python_classify()), there is nothing to
 * find but what needs no name, and that is looked for here: odd bytes, encodings and literals, and imports
 * that do not say of what.  (test/scan/thin.c compares.) */
#include <string.h>

#include "base/auto.h"
#include "scan/python.h"
#include "scan/thin_read.h"

#define LITERAL_MAX 900 /* bytes in a row without a blank: less than RULE_LONG_LITERAL is about */
#define NAMES_MAX 30    /* in an import: fewer than check_import() looks at */
#define LINE_MAX 400    /* behind it: a line of nothing but imports is not to be read once for each */

static bool is_word_byte(char c)
{
        return thin_kinds[(unsigned char)c] & (BYTE_WORD | BYTE_DIGIT);
}

/* What only makes values of values, or is nothing without a second word that is known, too ("numpy.save"). */
static bool is_harmless(const char *word, size_t len)
{
        static const char *const words[] = {"abs",    "bytes", "chr",    "functools", "int",
                                            "iter",   "join",  "len",    "list",      "numpy",
                                            "object", "ord",   "pandas", "range",     "round",
                                            "str",    "time",  "tuple",  "reversed"};
        return names_list_has(words, ARRAY_LEN(words), word, len);
}

/* Whether what follows "import" or "from" are names, and not too many: "*" and "." may be anything. */
static bool names_follow(const char *from, const char *text_end)
{
        const char *at = from, *end = text_end - from > LINE_MAX ? from + LINE_MAX : text_end;
        unsigned names = 1;
        while (at < end && (*at == ' ' || *at == '\t'))
                at++;
        if (at == end || !is_word_byte(*at))
                return false;
        for (; at < end && *at != '\n'; at++)
                names += *at == ',';
        return at - from < LINE_MAX && names < NAMES_MAX;
}

static bool begins_import(const char *word, size_t len)
{
        return names_list_has((const char *const[]){"import", "from"}, 2, word, len);
}

bool python_is_dull(const char *text, size_t len)
{
        const char *end = text + len;
        size_t row = 0;
        if (python_prepare() < 0)
                return false;
        for (const char *at = text; at < end;) {
                const char *word = at;
                while (at < end && is_word_byte(*at))
                        at++;
                const size_t n = (size_t)(at - word);
                if (begins_import(word, n)) {
                        if (!names_follow(at, end))
                                return false;
                } else if (n > 0 && !(thin_kinds[(unsigned char)*word] & BYTE_DIGIT)) {
                        const enum thin_class class = python_classify(word, n);
                        if (class == THIN_STOP || (class == THIN_KNOWN && !is_harmless(word, n)))
                                return false;
                }
                row += n;
                if (at < end) {
                        const unsigned char c = (unsigned char)*at++;
                        if (c < ' ' && c != '\n' && c != '\t')
                                return false;
                        row = c == ' ' || c == '\n' ? 0 : row + 1;
                }
                if (row > LITERAL_MAX)
                        return false;
        }
        return !memmem(text, len, "coding", 6); /* check_encoding() knows which of them matter */
}
