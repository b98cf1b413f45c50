/* warm/plain.c -- looks at code for words. */
#include "warm/plain.h"

#include "warm/bare.h"

#define PLAIN_MAX 4096 /* it is looked at once for each word */

static int has_word(const char *text, const char *word)
{
        const size_t length = bare_strlen(word);
        for (; *text; text++) {
                size_t same = 0;
                while (same < length && text[same] == word[same])
                        same++;
                if (same == length)
                        return 1;
        }
        return 0;
}

/* The interpreter takes many letters for another in names, such as those of full width for ours.  These are
 * for none: most of what people write, and what they draw. */
static int has_odd_letters(const char *code)
{
        static const struct {
                uint32_t first, last;
        } fine[] = {{0xa0, 0xa9},      {0xab, 0xb9},     {0xbb, 0x17e},    {0x180, 0x2af},
                    {0x300, 0x1cff},   {0x2010, 0x205f}, {0x20a0, 0x20cf}, {0x2190, 0x2bff},
                    {0x2e80, 0xa4ff},  {0xac00, 0xd7ff}, {0xfe0f, 0xfe0f}, {0x1f300, 0x1faff},
                    {0x20000, 0x3ffff}};
        for (const unsigned char *c = (const unsigned char *)code; *c; c++) {
                uint32_t letter = *c;
                size_t i = 0;
                if (letter < 0x80)
                        continue;
                const int more = letter < 0xe0 ? 1 : letter < 0xf0 ? 2 : 3;
                letter &= 0x3fu >> more;
                for (int n = 0; n < more; n++) {
                        if ((c[1] & 0xc0) != 0x80)
                                return 1; /* nothing that Python would read */
                        letter = letter << 6 | (*++c & 0x3f);
                }
                while (i < sizeof fine / sizeof *fine && (letter < fine[i].first || letter > fine[i].last))
                        i++;
                if (i == sizeof fine / sizeof *fine)
                        return 1;
        }
        return 0;
}

int plain_code(const char *code)
{
        static const char *const words[] = {"import",  "open",    "class",  "yield", "exec",
                                            "eval",    "compile", "__",     "attr",  "vars",
                                            "type",    "globals", "locals", "async", "await",
                                            "builtin", "help",    "exit",   "quit",  "breakpoint"};
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (has_word(code, words[i]))
                        return 0;
        return bare_strlen(code) < PLAIN_MAX && !has_odd_letters(code);
}
