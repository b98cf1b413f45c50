#include "scan/report.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/utf8.h"

/* Copies one line of printable UTF-8, cut at a character. */
static void copy_text(char *ret, const char *text, size_t len)
{
        size_t used = 0;
        for (size_t i = 0; i < len && used < SCAN_TEXT_MAX;) {
                size_t n = utf8_len(text + i, len - i);
                unsigned char c = (unsigned char)text[i];
                if (n > 1 && used + n <= SCAN_TEXT_MAX && utf8_get(text + i, n) >= 0xa0)
                        memcpy(ret + used, text + i, n);
                else if (n > 1 && used + n > SCAN_TEXT_MAX)
                        break;
                else {
                        ret[used] = (char)(n == 0 ? '?' : c < ' ' || c >= 0x7f ? ' ' : c);
                        used++;
                        i += n > 0 ? n : 1;
                        continue;
                }
                used += n;
                i += n;
        }
        ret[used] = '\0';
}

void report_place(const struct report *report, uint32_t *line, uint32_t *column)
{
        if (report->fixed || *line == 1)
                *column = report->column + (report->fixed ? 0 : *column - 1);
        *line = report->line + (report->fixed ? 0 : *line - 1);
}

static struct scan_finding *least(struct scan_report *report)
{
        struct scan_finding *found = &report->findings[0];
        for (size_t i = 1; i < report->n_findings; i++)
                if (report->findings[i].severity <= found->severity)
                        found = &report->findings[i];
        return found;
}

void report_at(struct report *report, enum rule rule, uint32_t line, uint32_t column, const char *text,
               size_t len)
{
        const struct scan_rule *r = scan_rule_at(rule);
        struct scan_report *to = report->to;
        report_place(report, &line, &column);
        to->verdict |= r->verdict;
        to->categories |= 1u << r->category;
        if (r->severity > to->worst)
                to->worst = r->severity;
        for (size_t i = 0; i < to->n_findings; i++) {
                const struct scan_finding *f = &to->findings[i];
                if (f->line == line && f->column == column && f->rule == r->name)
                        return;
        }
        struct scan_finding *f;
        if (to->n_findings < SCAN_FINDINGS_MAX) {
                f = &to->findings[to->n_findings++];
        } else {
                to->more = true;
                f = least(to);
                if (f->severity >= r->severity)
                        return;
        }
        *f = (struct scan_finding){.rule = r->name,
                                   .severity = r->severity,
                                   .category = r->category,
                                   .line = line,
                                   .column = column};
        copy_text(f->text, text, len);
}

void report_node(struct report *report, enum rule rule, TSNode node)
{
        TSPoint point = ts_node_start_point(node);
        uint32_t from = ts_node_start_byte(node), to = ts_node_end_byte(node);
        report_at(report, rule, point.row + 1, point.column + 1, report->text + from, to - from);
}

void report_import(struct report *report, const char *module, size_t len)
{
        char *imports = report->to->imports, word[SCAN_IMPORT_MAX + 3];
        const size_t used = strlen(imports);
        size_t n = 0;
        while (n < len && (isalnum((unsigned char)module[n]) || module[n] == '_'))
                n++;
        if (n == 0 || n > SCAN_IMPORT_MAX || isdigit((unsigned char)module[0]) ||
            (n < len && module[n] != '.'))
                return;
        snprintf(word, sizeof word, " %.*s ", (int)n, module);
        if (!strstr(imports, word) && used + n + 2 < SCAN_IMPORTS_SIZE)
                snprintf(imports + used, SCAN_IMPORTS_SIZE - used, "%s", used > 0 ? word + 1 : word);
}

static int compare(const void *a, const void *b)
{
        const struct scan_finding *x = a, *y = b;
        if (x->line != y->line)
                return x->line < y->line ? -1 : 1;
        if (x->column != y->column)
                return x->column < y->column ? -1 : 1;
        if (x->severity != y->severity)
                return x->severity > y->severity ? -1 : 1;
        return strcmp(x->rule, y->rule);
}

void report_end(struct scan_report *report)
{
        qsort(report->findings, report->n_findings, sizeof *report->findings, compare);
}
