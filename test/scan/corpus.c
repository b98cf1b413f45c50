/* test/scan/corpus.c -- each snippet of python.txt, bash.txt and javascript.txt has the findings it says, and
 * no others.
 *
 *     @@ risky import under an alias          whether the verdict has anything in it, and what it is about
 *     @@ rules import_network 1, …            each with its line, in the order of the text; - without any
 *     @@ allow json os.path                   allowed_imports, if there are
 *     import socket as s                      the text, up to the next one */
#include <ctype.h>

#include "../unit/test.h"
#include "scan/scan.h"

#define TEXT_MAX 8192
#define ALLOW_MAX 16

struct snippet {
        char name[200], rules[600], allow[200], text[TEXT_MAX];
        size_t len;
        bool risky;
};

static unsigned counted;

static void expect(enum scan_language language, struct snippet *s)
{
        static struct scan_report report;
        const char *allowed[ALLOW_MAX];
        struct scan_rules rules = {0};
        char found[sizeof s->rules] = "";
        size_t used = 0;
        char *rest = s->allow, *word;
        while ((word = strsep(&rest, " ")))
                if (*word && rules.n_allowed_imports < ALLOW_MAX)
                        allowed[rules.n_allowed_imports++] = word;
        rules.allowed_imports = rules.n_allowed_imports > 0 ? allowed : NULL;
        CHECK_INT(scan(language, s->text, s->len, &rules, NULL, &report), 0);
        for (size_t i = 0; i < report.n_findings && used < sizeof found; i++)
                used += (size_t)snprintf(found + used, sizeof found - used, "%s%s %u", i > 0 ? ", " : "",
                                         report.findings[i].rule, report.findings[i].line);
        if (report.n_findings == 0)
                strcpy(found, "-");
        counted++;
        if (strcmp(found, s->rules) != 0 && test_fail(__FILE__, __LINE__))
                printf("%s: found %s\n  not %s\n", s->name, found, s->rules);
        if ((report.verdict != 0) != s->risky && test_fail(__FILE__, __LINE__))
                printf("%s: the verdict is 0x%x\n", s->name, report.verdict);
        /* A refusal names its first finding. */
        CHECK((scan_refusal(&report) != NULL) == ((report.verdict & SCAN_NOT_ALLOWED) != 0));
}

static void run(enum scan_language language, const char *file)
{
        static struct snippet s;
        char path[600], *line = NULL;
        size_t size = 0;
        ssize_t n;
        snprintf(path, sizeof path, "%s/%s", CORPUS, file);
        FILE *in = fopen(path, "re");
        CHECK(in != NULL);
        while (in && (n = getline(&line, &size, in)) > 0) {
                if (strncmp(line, "@@ ", 3) != 0) {
                        CHECK(s.len + (size_t)n < TEXT_MAX);
                        memcpy(s.text + s.len, line, (size_t)n);
                        s.len += (size_t)n;
                        continue;
                }
                line[n - 1] = '\0';
                if (!strncmp(line, "@@ rules ", 9)) {
                        snprintf(s.rules, sizeof s.rules, "%s", line + 9);
                } else if (!strncmp(line, "@@ allow ", 9)) {
                        snprintf(s.allow, sizeof s.allow, "%s", line + 9);
                } else {
                        if (s.name[0])
                                expect(language, &s);
                        s = (struct snippet){.risky = !strncmp(line, "@@ risky ", 9)};
                        CHECK(s.risky || !strncmp(line, "@@ harmless ", 12));
                        snprintf(s.name, sizeof s.name, "%s", line + 3);
                }
        }
        expect(language, &s);
        s = (struct snippet){0};
        free(line);
        if (in)
                fclose(in);
}

TEST(python)
{
        run(SCAN_PYTHON, "python.txt");
}

TEST(bash)
{
        run(SCAN_BASH, "bash.txt");
}

TEST(javascript)
{
        run(SCAN_JAVASCRIPT, "javascript.txt");
}

TEST(the_corpus_has_at_least_150_cases)
{
        CHECK(counted >= 150);
}

TEST(languages_are_known_by_runtime_file_and_first_line)
{
        CHECK_INT(scan_language_of_runtime("python3.11"), SCAN_PYTHON);
        CHECK_INT(scan_language_of_runtime("/usr/bin/python3"), SCAN_PYTHON);
        CHECK_INT(scan_language_of_runtime("sh"), SCAN_BASH);
        CHECK_INT(scan_language_of_runtime("node"), SCAN_JAVASCRIPT);
        CHECK_INT(scan_language_of_runtime("ruby"), SCAN_UNKNOWN);
        CHECK_INT(scan_language_of_runtime(""), SCAN_UNKNOWN);
        CHECK_INT(scan_language_of_file("a/b.c/x.py"), SCAN_PYTHON);
        CHECK_INT(scan_language_of_file("x.mjs"), SCAN_JAVASCRIPT);
        CHECK_INT(scan_language_of_file("x.sh"), SCAN_BASH);
        CHECK_INT(scan_language_of_file("a.py/x"), SCAN_UNKNOWN);
        CHECK_INT(scan_language_of_text("#!/usr/bin/env -S python3 -u\n", 29), SCAN_PYTHON);
        CHECK_INT(scan_language_of_text("#!/bin/sh", 9), SCAN_BASH);
        CHECK_INT(scan_language_of_text("x", 1), SCAN_UNKNOWN);
        CHECK_INT(scan_language_of_text("", 0), SCAN_UNKNOWN);
}

TEST(an_unknown_language_is_risky)
{
        static struct scan_report report;
        CHECK_INT(scan(SCAN_UNKNOWN, "puts 1", 6, NULL, NULL, &report), 0);
        CHECK_INT(report.verdict, SCAN_UNKNOWN_LANGUAGE);
        CHECK_INT(report.n_findings, 1);
        CHECK_STR(report.findings[0].rule, "unknown_language");
}

TEST(empty_code_has_no_findings)
{
        static struct scan_report report;
        for (int language = SCAN_PYTHON; language <= SCAN_JAVASCRIPT; language++) {
                CHECK_INT(scan((enum scan_language)language, "", 0, NULL, NULL, &report), 0);
                CHECK_INT(report.verdict, 0);
                CHECK_INT(report.n_findings, 0);
        }
}

TEST(too_many_findings_keep_the_worst)
{
        static struct scan_report report;
        char *text = malloc(300 * 16 + 100);
        size_t len = 0;
        for (int i = 0; i < 300; i++)
                len += (size_t)sprintf(text + len, "open('x')\n");
        len += (size_t)sprintf(text + len, "import base64\nexec(base64.b64decode('eA=='))\n");
        CHECK_INT(scan(SCAN_PYTHON, text, len, NULL, NULL, &report), 0);
        CHECK_INT(report.n_findings, SCAN_FINDINGS_MAX);
        CHECK(report.more);
        CHECK_INT(report.worst, SCAN_HIGH);
        CHECK_STR(report.findings[SCAN_FINDINGS_MAX - 1].rule, "obfuscated_code");
        CHECK_INT(report.findings[SCAN_FINDINGS_MAX - 1].line, 302);
        free(text);
}

TEST(a_finding_has_its_place_and_kind)
{
        static struct scan_report report;
        static const char text[] = "x = 1\nif x:\n  y = eval(\n   'é\001' + input())\n";
        CHECK_INT(scan(SCAN_PYTHON, text, sizeof text - 1, NULL, NULL, &report), 0);
        CHECK_INT(report.n_findings, 1);
        CHECK_INT(report.findings[0].line, 3);
        CHECK_INT(report.findings[0].column, 7);
        CHECK_STR(report.findings[0].text, "eval(    'é ' + input())");
}

TEST(the_report_as_json)
{
        static struct scan_report report;
        static const char text[] = "import socket # \"\n";
        char *out = NULL;
        size_t len = 0;
        FILE *memory = open_memstream(&out, &len);
        struct json j = {.out = memory};
        CHECK_INT(scan(SCAN_PYTHON, text, sizeof text - 1, NULL, NULL, &report), 0);
        scan_report_write(&j, NULL, SCAN_PYTHON, &report);
        fclose(memory);
        CHECK_STR(out,
                  "{\"language\": \"python\", \"verdict\": [\"uses_network\"], \"severity\": \"medium\", "
                  "\"findings\": [{\"rule\": \"import_network\", \"severity\": \"medium\", \"category\": "
                  "\"network\", \"line\": 1, "
                  "\"column\": 1, \"text\": \"import socket\"}], \"more\": false}");
        free(out);
}

static const char *imports_of(enum scan_language language, const char *text)
{
        static struct scan_report report;
        CHECK_INT(scan(language, text, strlen(text), NULL, NULL, &report), 0);
        return report.imports;
}

TEST(imports_are_the_first_parts_of_names_each_once)
{
        CHECK_STR(imports_of(SCAN_PYTHON, "x = 1\n"), "");
        CHECK_STR(imports_of(SCAN_PYTHON, "import numpy as np, os.path\nfrom pandas.core import frame\n"
                                          "def f():\n    import numpy.linalg\n"
                                          "try:\n    from yaml import *\nexcept ImportError:\n    pass\n"),
                  " numpy os pandas yaml ");
        CHECK_STR(imports_of(SCAN_PYTHON,
                             "import importlib\nimportlib.import_module('a_1.b')\n__import__('c')\n"),
                  " importlib a_1 c ");
        CHECK_STR(imports_of(SCAN_PYTHON, "from . import a\nfrom .b import c\n"), "");
        CHECK_STR(imports_of(SCAN_JAVASCRIPT, "require('fs')\n"), "");
}

TEST(hostile_import_names_are_left_out)
{
        char text[40000] = "";
        size_t used = 0;
        CHECK_STR(imports_of(SCAN_PYTHON,
                             "for n in ('../x', '-x', ' ', '', '.', '1a', 'a b', 'a\\0b', 'a/b', '\u00e9'):\n"
                             "    __import__(n)\n"
                             "__import__('../x')\n__import__('-x')\n__import__('')\n"
                             "__import__('1a')\n__import__('a b')\n__import__('a\\0b')\n"
                             "__import__('a/b')\n__import__('\u00e9')\n"),
                  "");
        CHECK_INT(snprintf(text, sizeof text, "import %0*d\nimport a%0*d\n", SCAN_IMPORT_MAX + 1, 0,
                           SCAN_IMPORT_MAX, 0) > SCAN_IMPORT_MAX,
                  1);
        CHECK_STR(imports_of(SCAN_PYTHON, text), "");
        for (int i = 0; i < 1000; i++)
                used += (size_t)snprintf(text + used, sizeof text - used, "import module_%d\n", i);
        const char *found = imports_of(SCAN_PYTHON, text);
        CHECK(strstr(found, " module_0 ") && !strstr(found, "module_999"));
        CHECK(strlen(found) < SCAN_IMPORTS_SIZE && strlen(found) > SCAN_IMPORTS_SIZE - 16);
}

/* The table in the documentation equals the one in the program. */
TEST(every_rule_is_documented_and_in_the_corpus)
{
        static char documentation[65536], corpus[1 << 18];
        static const char *const files[] = {"python.txt", "bash.txt", "javascript.txt"};
        char word[80], path[600];
        const struct scan_rule *rule;
        size_t len = 0;
        snprintf(path, sizeof path, "%s/../../doc/scanner.md", CORPUS);
        FILE *in = fopen(path, "re");
        CHECK(in != NULL);
        if (!in)
                return;
        documentation[fread(documentation, 1, sizeof documentation - 1, in)] = '\0';
        fclose(in);
        for (size_t i = 0; i < 3; i++) {
                snprintf(path, sizeof path, "%s/%s", CORPUS, files[i]);
                if ((in = fopen(path, "re"))) {
                        len += fread(corpus + len, 1, sizeof corpus - 1 - len, in);
                        fclose(in);
                }
        }
        for (size_t i = 0; (rule = scan_rule_at(i)); i++) {
                snprintf(word, sizeof word, "| `%s` | %s |", rule->name, scan_severity_name(rule->severity));
                if (!strstr(documentation, word) && test_fail(__FILE__, __LINE__))
                        printf("doc/scanner.md has no line with: %s\n", word);
                snprintf(word, sizeof word, "%s ", rule->name);
                if (!strstr(corpus, word) && test_fail(__FILE__, __LINE__))
                        printf("no snippet has the rule %s\n", rule->name);
        }
}
