#include "cli/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/utf8.h"

#define CELL_MAX 1024

/* Control characters (also C1: some terminals interpret them), direction marks, line separators, and
 * invisible characters. */
static bool harmful(uint32_t c)
{
        return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
               (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
               c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

/* Copies the next character of text if it is harmless, otherwise "?"; *used: bytes read from text; returns
 * the bytes written. */
static size_t cli_text_next(const char *text, size_t len, bool lines, char out[4], size_t *used)
{
        size_t n = utf8_len(text, len);
        uint32_t c = n ? utf8_get(text, n) : 0;
        *used = n ? n : 1;
        if ((lines && (c == '\n' || c == '\t')) || (n && !harmful(c))) {
                memcpy(out, text, n);
                return n;
        }
        out[0] = '?';
        return 1;
}

void text_safe(char *out, size_t size, const char *text)
{
        size_t len = text ? strlen(text) : 0, at = 0;
        while (len > 0) {
                char bytes[4];
                size_t used, n = cli_text_next(text, len, false, bytes, &used);
                if (at + n >= size)
                        break;
                memcpy(out + at, bytes, n);
                at += n;
                text += used;
                len -= used;
        }
        out[at] = '\0';
}

void text_limit(char *out, size_t size, const char *status, const char *hint)
{
        static const struct {
                const char *option, *before, *after;
        } words[] = {
                {"timeout", "stopped after ", ""},         {"cpu-time", "stopped after ", " of CPU time"},
                {"memory", "stopped at ", " of memory"},   {"output", "stopped at ", " of output"},
                {"disk", "failed at ", " on the disk"},    {"inodes", "failed at ", " files on the disk"},
                {"processes", "failed at ", " processes"},
        };
        const char *colon = strstr(hint, ": "), *reached = strstr(hint, " reached; ");
        for (size_t i = 0; colon && reached && reached > colon && i < ARRAY_LEN(words); i++)
                if (strlen(words[i].option) == (size_t)(colon - hint) &&
                    !strncmp(words[i].option, hint, (size_t)(colon - hint))) {
                        snprintf(out, size, "%s%.*s%s (--%s)", words[i].before, (int)(reached - colon - 2),
                                 colon + 2, words[i].after, words[i].option);
                        return;
                }
        snprintf(out, size, "%s%s%s", status, hint[0] ? "; " : "", hint);
}

void text_print(FILE *out, const char *text, size_t len)
{
        while (len > 0) {
                char bytes[4];
                size_t used, n = cli_text_next(text, len, true, bytes, &used);
                fwrite(bytes, 1, n, out);
                text += used;
                len -= used;
        }
}

static size_t width_of(const char *text)
{
        size_t n = 0;
        for (; *text; text++)
                n += ((unsigned char)*text & 0xc0) != 0x80;
        return n;
}

/* Cuts the text to this number of characters, with dots for the rest. */
static void cli_text_cut(char *text, size_t width)
{
        size_t n = 0;
        if (width < 4 || width_of(text) <= width)
                return;
        while (n < width - 2 || ((unsigned char)*text & 0xc0) == 0x80)
                n += ((unsigned char)*text++ & 0xc0) != 0x80;
        memcpy(text, "..", 3);
}

void table_init(struct table *t, const char *const *headings, size_t columns)
{
        *t = (struct table){.columns = columns};
        for (size_t i = 0; i < columns; i++)
                table_add(t, headings[i], 0);
}

void table_add(struct table *t, const char *text, size_t width)
{
        char cell[CELL_MAX];
        if (t->n == t->size) {
                size_t size = t->size ? t->size * 2 : 64;
                char **cells = realloc(t->cells, size * sizeof *cells);
                if (!cells)
                        return;
                t->cells = cells;
                t->size = size;
        }
        text_safe(cell, sizeof cell, text && *text ? text : "-");
        cli_text_cut(cell, width);
        t->cells[t->n++] = strdup(cell);
}

void table_write(struct table *t, FILE *out)
{
        size_t *widths = calloc(t->columns, sizeof *widths); /* NULL: the columns are not aligned */
        for (size_t i = 0; widths && i < t->n; i++) {
                size_t w = width_of(t->cells[i] ? t->cells[i] : "");
                if (w > widths[i % t->columns])
                        widths[i % t->columns] = w;
        }
        for (size_t i = 0; i < t->n; i++) {
                const char *cell = t->cells[i] ? t->cells[i] : "";
                bool last = i % t->columns == t->columns - 1;
                size_t end = (widths ? widths[i % t->columns] : width_of(cell)) + 2;
                fputs(cell, out);
                if (last)
                        fputc('\n', out);
                for (size_t w = width_of(cell); !last && w < end; w++)
                        fputc(' ', out);
                free(t->cells[i]);
        }
        free(widths);
        free(t->cells);
        *t = (struct table){0};
}

void table_print(struct table *t)
{
        table_write(t, stdout);
}
