/* test/fuzz/scan.c -- programs' texts.  The first byte says in which language, and whether imports are
 * limited; with its highest bit the text is a list of pieces, each repeated.  The report must be
 * consistent, and nothing may be read outside the text. */
#include "scan/scan.h"
#include "base/utf8.h"
#include "fuzz.h"

#define TEXT_MAX 4096

static void check(const struct scan_report *report)
{
        unsigned verdict = 0;
        for (size_t i = 0; i < report->n_findings; i++) {
                const struct scan_finding *f = &report->findings[i];
                size_t n = strlen(f->text);
                for (size_t k = 0; k < n;) {
                        size_t wide = utf8_len(f->text + k, n - k);
                        if (wide == 0 || (unsigned char)f->text[k] < ' ')
                                abort();
                        k += wide;
                }
                if (f->line == 0 || f->column == 0 || f->severity > report->worst)
                        abort();
                for (size_t k = 0; scan_rule_at(k); k++)
                        if (scan_rule_at(k)->name == f->rule)
                                verdict |= scan_rule_at(k)->verdict;
        }
        if (verdict & ~report->verdict)
                abort();
}

/* Pieces that end with a zero byte; the byte before each is its number of repetitions. */
static size_t repeat(const uint8_t *data, size_t len, char *ret)
{
        static const size_t counts[] = {1, 2, 3, 9, 75, 100, 520, 1};
        size_t used = 0;
        for (size_t at = 0; at < len;) {
                size_t n = counts[data[at++] % 8];
                const uint8_t *end = memchr(data + at, 0, len - at);
                size_t piece = end ? (size_t)(end - (data + at)) : len - at;
                for (; n > 0 && piece <= TEXT_MAX - used; n--) {
                        memcpy(ret + used, data + at, piece);
                        used += piece;
                }
                at += piece + 1;
        }
        return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        static struct scan_report report;
        static const char *const allowed[] = {"json", "os.path"};
        const struct scan_rules limited = {allowed, 2}, *rules = len > 0 && data[0] & 4 ? &limited : NULL;
        if (len == 0)
                return 0;
        const enum scan_language language = (enum scan_language)(data[0] % 4);
        const bool repeated = data[0] & 128;
        char *text = malloc(repeated ? TEXT_MAX : len);
        if (repeated)
                len = repeat(data + 1, len - 1, text);
        else
                memcpy(text, data + 1, --len);
        /* A copy of exact size, so that a sanitizer reports a read past its end. */
        char *copy = malloc(len > 0 ? len : 1);
        memcpy(copy, text, len);
        if (scan(language, copy, len, rules, NULL, &report) != 0)
                abort();
        check(&report);
        free(copy);
        free(text);
        return 0;
}
