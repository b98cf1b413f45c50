/* test/fuzz/scan.c -- programs' texts.  The first byte says in which language, and whether imports are
 * limited. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "scan/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        static struct scan_report report;
        static const char *const allowed[] = {"json", "os.path"};
        const struct scan_rules rules = {allowed, 2};
        if (len == 0)
                return 0;
        /* A copy that ends where the text ends, so that reading further is seen. */
        char *text = malloc(len);
        memcpy(text, data + 1, len - 1);
        if (scan((enum scan_language)(data[0] % 4), text, len - 1, data[0] & 4 ? &rules : NULL, &report) != 0)
                abort();
        unsigned verdict = 0;
        for (size_t i = 0; i < report.n_findings; i++) {
                const struct scan_finding *f = &report.findings[i];
                size_t n = strlen(f->text);
                for (size_t k = 0; k < n;) {
                        size_t wide = utf8_len(f->text + k, n - k);
                        if (wide == 0 || (unsigned char)f->text[k] < ' ')
                                abort();
                        k += wide;
                }
                if (f->line == 0 || f->column == 0 || f->severity > report.worst)
                        abort();
                for (size_t k = 0; scan_rule_at(k); k++)
                        if (scan_rule_at(k)->name == f->rule)
                                verdict |= scan_rule_at(k)->verdict;
        }
        if (verdict & ~report.verdict)
                abort();
        free(text);
        return 0;
}
