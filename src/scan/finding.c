#include "scan/finding.h"

#include "base/auto.h"

const char *scan_severity_name(enum scan_severity severity)
{
        static const char *const names[] = {"info", "low", "medium", "high"};
        return names[severity];
}

const char *const scan_category_words[] = {"files",       "network", "process", "native", "evaluation",
                                           "obfuscation", "imports", "unread",  NULL};

const char *scan_verdict_name(unsigned index)
{
        static const char *const names[] = {"uses_network",       "writes_outside_workspace",
                                            "controls_processes", "network_command_in_shell",
                                            "evaluates",          "obfuscated",
                                            "unparsable",         "unknown_language",
                                            "import_not_allowed"};
        return index < ARRAY_LEN(names) ? names[index] : NULL;
}

const char *scan_language_name(enum scan_language language)
{
        static const char *const names[] = {"unknown", "python", "bash", "javascript"};
        return names[language];
}

void scan_report_write(struct json *j, const char *key, enum scan_language language,
                       const struct scan_report *report)
{
        const char *name;
        json_put_open(j, key, '{');
        json_put_string(j, "language", scan_language_name(language));
        json_put_open(j, "verdict", '[');
        for (unsigned i = 0; (name = scan_verdict_name(i)); i++)
                if (report->verdict & 1u << i)
                        json_put_string(j, NULL, name);
        json_put_close(j, ']');
        json_put_string(j, "severity", report->n_findings > 0 ? scan_severity_name(report->worst) : "none");
        json_put_open(j, "findings", '[');
        for (size_t i = 0; i < report->n_findings; i++) {
                const struct scan_finding *f = &report->findings[i];
                json_put_open(j, NULL, '{');
                json_put_string(j, "rule", f->rule);
                json_put_string(j, "severity", scan_severity_name(f->severity));
                json_put_string(j, "category", scan_category_words[f->category]);
                json_put_number(j, "line", f->line);
                json_put_number(j, "column", f->column);
                json_put_string(j, "text", f->text);
                json_put_close(j, '}');
        }
        json_put_close(j, ']');
        json_put_bool(j, "more", report->more);
        if (report->skipped)
                json_put_string(j, "skipped", report->skipped);
        json_put_close(j, '}');
}
