/* test/fuzz/scan.c -- programs' texts.  The first byte says in which language, and whether imports are
 * limited; with its highest bit the text is a list of pieces, each repeated.  What is found in it must be the
 * same whether things are left out before it is parsed or not, nothing where it is said to be dull, and its
 * nodes those that tree-sitter's own functions find. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../scan/same.h"
#include "base/utf8.h"
#include "scan/scan.h"
#include "scan/thin.h"

const TSLanguage *tree_sitter_python(void);
const TSLanguage *tree_sitter_bash(void);
const TSLanguage *tree_sitter_javascript(void);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

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

/* The text was too much for it: with less of it, it may not be. */
static bool gave_up(const struct scan_report *report)
{
        for (size_t i = 0; i < report->n_findings; i++)
                if (!strcmp(report->findings[i].rule, "unparsable") && report->findings[i].line == 1 &&
                    report->findings[i].column == 1)
                        return true;
        return report->more && report->verdict & SCAN_UNPARSABLE; /* it may have been pushed out by others */
}

static double now_ms(void)
{
        struct timespec now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void compare(const struct scan_report *a, const struct scan_report *b)
{
        if (gave_up(a))
                return;
        if (a->verdict != b->verdict || a->worst != b->worst || a->more != b->more ||
            a->n_findings != b->n_findings || a->unknown_command != b->unknown_command)
                abort();
        for (size_t i = 0; i < a->n_findings; i++) {
                const struct scan_finding *x = &a->findings[i], *y = &b->findings[i];
                if (x->rule != y->rule || x->line != y->line || x->column != y->column ||
                    strcmp(x->text, y->text) != 0)
                        abort();
        }
}

/* That it is malformed may be found in what is said to be dull, and nothing else. */
static bool has_more_than_malformed(const struct scan_report *report)
{
        for (size_t i = 0; i < report->n_findings; i++)
                if (strcmp(report->findings[i].rule, "unparsable") != 0)
                        return true;
        return false;
}

/* Whether it was done long before its time was over. */
static bool look(enum scan_language language, const char *text, size_t len, const struct scan_rules *rules,
                 size_t from, struct scan_report *ret)
{
        double begun = now_ms();
        thin_from = from;
        if (scan(language, text, len, rules, ret) != 0)
                abort();
        check(ret);
        return now_ms() - begun < SCAN_TIME_MS * 0.8;
}

/* Pieces up to a zero, each behind a byte that says how often it comes. */
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
        static struct scan_report report, thin;
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
        /* A copy that ends where the text ends, so that reading further is seen. */
        char *copy = malloc(len > 0 ? len : 1);
        memcpy(copy, text, len);
        /* Sanitizers are slow: what is cut off in time differs. */
        bool in_time = look(language, copy, len, rules, SIZE_MAX, &report);
        in_time &= look(language, copy, len, rules, 0, &thin);
        if (in_time)
                compare(&report, &thin);
        if (!rules && scan_is_dull(language, copy, len) && has_more_than_malformed(&report))
                abort();
        const TSLanguage *grammar = language == SCAN_PYTHON ? tree_sitter_python()
                                    : language == SCAN_BASH ? tree_sitter_bash()
                                                            : tree_sitter_javascript();
        if (in_time && !same_walk(grammar, copy, len))
                abort();
        free(copy);
        free(text);
        return 0;
}
