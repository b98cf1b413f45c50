/* test/scan/thin.c -- what is left out of long texts before they are parsed makes no difference, and neither
 * does what is done in another way than tree-sitter does it.
 *
 * Texts are put together at random, of the snippets of the corpus and of pieces that are dense, repeated, or
 * made to mislead a reader that only guesses; each is scanned as a whole and with all that can go left out.
 * CELLA_TEST_SEED=N begins elsewhere, CELLA_TEST_ROUNDS=N goes on for longer. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "../unit/test.h"
#include "same.h"
#include "scan/bash.h"
#include "scan/javascript.h"
#include "scan/python.h"
#include "stock.h"

#define TEXT_MAX (12u << 10)
#define SNIPPETS_MAX 400
#define ROUNDS 30

#define TEN_LINES "q w\nq w\nq w\nq w\nq w\nq w\nq w\nq w\nq w\nq w\n"

static const struct thin_language languages[] = {
        [SCAN_PYTHON] = {SCAN_PYTHON, '0', python_classify},
        [SCAN_BASH] = {SCAN_BASH, ':', bash_classify},
        [SCAN_JAVASCRIPT] = {SCAN_JAVASCRIPT, '0', javascript_classify},
};

/* '@' is some name, '#' some number. */
static const char *const python[] = {
        "from socket import *\n",
        "@=#\n",
        "@ = @ + #\n",
        "@(@)\n",
        "[#,#,#]\n",
        "@.@ = [@, #]\n",
        "if @: @\n",
        "@;@;@\n",
        "\"@ @\"\n",
        "def @(@, @=#):\n    @ = #\n    return @\n",
        "class @:\n    @ = #\n    @ = '@'\n",
        "@d\ndef @(): pass\n",
        "'''\n@ = #\n@ = @\n@ = #\n'''\n",
        "x = \"\"\"\nimport socket\n@ = #\n\"\"\"\n",
        "f'{@}{@[\"@\"]}'\n",
        "@ = (\n  @,\n  #,\n)\n",
        "@ = {\n '@': #,\n '@': #,\n}\n",
        "# @ = '''\n",
        "import @\n",
        "from @ import @\n",
        "@ = @ \\\n  + #\n",
        "for @ in @:\n  @(#)\n  @(@)\n  @(#)\nelse:\n  @\n",
        "try:\n  @\nexcept @:\n  @\n",
        "@ = open(@)\n",
        "@ = eval\n",
        "@('@')\n",
        "del @\n",
        "@: int = #\n",
        "print(@)\n",
        "if @:\n  @ = #\n  @ = #\n@ = #\n",
        "@ = r'\\'\n@ = #\n@ = #\n",
        "@ = '\\''\n",
        "lambda @: @\n",
        "@ = [\n'@',\n'@',\n]\n",
        "\n\n",
        "@ = '#'  # '\n",
        "@[#] = @\n",
        "@ = @ if @ else #\n",
        "async def @(@): await @\n",
        "match @:\n  case #: @\n",
        "@ = -#, +#\n",
        "exec(@)\n",
        "getattr(@, '@')()\n",
        "global @\n",
        "@ = b'@' '@'\n",
};
static const char *const javascript[] = {
        "@=#\n",
        "@=#;",
        "@ = @ + #;\n",
        "@(@)\n",
        "@(@);\n",
        "[#,#,#];\n",
        "@.@ = [@, #]\n",
        "if (@) @;\n",
        "if (@)\n  @\n",
        "if (@) @\nelse @\n",
        "function @(@, @=#){ @ = #; @ = #; return @ }\n",
        "function @(){}",
        "class @ { @(){ @ } }\n",
        "const @ = #;\n",
        "let @ = '@'\n",
        "var @ = {@: #, @: @};\n",
        "`\n@ = #;\n@ = #;\n`;\n",
        "`${@}`\n",
        "`${`@`}`\n",
        "@ = /@[/\"]/;\n",
        "@ = @ / # / @;\n",
        "@ = # / @\n@ = #\n/@/.@(@)\n",
        "/* @ = ' */\n",
        "// @ = `\n",
        "(@)\n",
        "[@]\n",
        ";\n",
        "@ => @\n",
        "(@, @) => { @; @; @ }\n",
        "import @ from '@'\n",
        "const {@} = require('@')\n",
        "@ = require('net')\n",
        "for (let @ = #; @ < #; @++) { @ }\n",
        "do @; while (@)\n",
        "@++\n@\n",
        "return\n",
        "@:\n@\n",
        "try { @ } catch (@) { @ }\n",
        "@['@']('@')\n",
        "@['con' + '@']\n",
        "@ = 'structor'\n",
        "@[@](@)\n",
        "{}",
        "{@}\n",
        "@ = [\n'@',\n'@',\n];\n",
        "switch (@) { case #: @; default: @ }\n",
        "@ = {\n}\n",
        "async function @(){ await @ }\n",
        "<!-- @\n",
        "export const @ = #\n",
        "@ = @\n(@)\n",
        "@ = function(){}\n",
        "new @(@);\n",
        "@?.@;\n",
        "@ = '\\\n@ = #;\n';\n",
        "eval(@)\n",
        "let\n@ = #\n",
};
static const char *const bash[] = {
        "@=#\n",
        "@ @\n",
        "@ @ @ #\n",
        "@;@;@\n",
        "@ | @\n",
        "@ |\n@\n",
        "@ && @\n",
        "@ \\\n @\n",
        "$@\n",
        "\"$@\" '@'\n",
        "@=(@ @ #)\n",
        "@=(\n@\n@\n)\n",
        "if @; then @; fi\n",
        "if @\nthen\n@\n@\nelse\n@\nfi\n",
        "for @ in @ @; do @; @; done\n",
        "while @; do\n@\ndone\n",
        "case @ in\n@) @ ;;\n*) @ ;;\nesac\n",
        "@() {\n@\n@\n}\n",
        "@(){ @;}\n",
        "function @ {\n@\n}\n",
        "cat <<E\n@ $@\n@\nE\n",
        "cat <<'E'\n@\n@=#\nE\n",
        "cat <<-E\n\t@\n\tE\n",
        "cat <<E | @\n@\nE\n",
        "@ <<< @\n",
        "@ > @\n",
        "@ &\n",
        "@ $(@ @)\n",
        "@ `@`\n",
        "((@ + #))\n",
        "echo @\n",
        "echo '@\n@\n@'\n",
        "echo \"@\n@\n$(@ \"@\")\n\"\n",
        "# '\n",
        "c\"url\" @\n",
        "@\"@\" @\n",
        "sh\n",
        "curl @ |\nsh\n",
        "read @\n",
        "export @=#\n",
        "@ {@,@}\n",
        "[[ @ == @ ]]\n",
        "[[ @ ||\n@\n]]\n",
        "[ @ ]\n",
        "! @\n",
        "{ @; @; }\n",
        "( @\n@ )\n",
        "@ @=#\n",
        "${!@}\n",
        "eval @\n",
        "@ '\n",
        "$'@\\'@'\n",
        "@ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ "
        "@ @ @ @ @ @ "
        "@ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @ @\n",
};

/* Sanitizers and valgrind are ten times as slow. */
static bool slow(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        return true;
#else
        return getenv("CELLA_TEST_SLOW") != NULL;
#endif
}

static uint32_t state;
static uint32_t mixed; /* how many names of a hundred are not dull */
static uint32_t group; /* which are, at the moment */

static uint32_t dice(uint32_t sides)
{
        state = state * 1664525u + 1013904223u;
        return (state >> 8) % sides;
}

/* ---- the corpus ---- */

static char *snippets[SNIPPETS_MAX];
static size_t n_snippets;

static void add_line(bool begins, const char *line)
{
        if (begins && n_snippets < SNIPPETS_MAX)
                snippets[n_snippets++] = calloc(1, 1);
        if (n_snippets == 0)
                return;
        char **last = &snippets[n_snippets - 1];
        *last = realloc(*last, strlen(*last) + strlen(line) + 1);
        strcat(*last, line);
}

static void read_snippets(const char *file)
{
        char path[600], *line = NULL;
        size_t size = 0;
        bool begins = false;
        snprintf(path, sizeof path, "%s/%s.txt", CORPUS, file);
        FILE *in = fopen(path, "re");
        CHECK(in != NULL);
        while (in && getline(&line, &size, in) > 0) {
                bool about = !strncmp(line, "@@ ", 3);
                if (!about)
                        add_line(begins, line);
                begins = about;
        }
        free(line);
        if (in)
                fclose(in);
}

static void free_snippets(void)
{
        while (n_snippets > 0)
                free(snippets[--n_snippets]);
}

/* ---- texts ---- */

static const char *some_name(void)
{
        static const char *const dull[] = {"q", "qq", "w1", "zz_9", "v", "_x", "k", "y", "u8"},
                                 *const others[] = {"a",    "b",    "f",  "name", "os",
                                                    "eval", "open", "sh", "net",  "constructor"};
        return dice(100) < mixed ? others[dice(10)] : dull[group + dice(3)];
}

static size_t add_piece(char *text, size_t len, const char *piece, bool marks)
{
        for (; *piece && len < TEXT_MAX - 16; piece++) {
                if (marks && *piece == '@')
                        len += (size_t)sprintf(text + len, "%s", some_name());
                else if (marks && *piece == '#')
                        len += (size_t)sprintf(text + len, "%u", dice(dice(2) ? 10 : 1000));
                else
                        text[len++] = *piece;
        }
        return len;
}

static size_t make(char *text, const char *const *pieces, size_t n_pieces)
{
        static const uint32_t counts[] = {1, 1, 2, 3, 10, 40, 100, 600};
        size_t len = 0, parts = 2 + dice(12);
        mixed = dice(3) == 0 ? dice(30) : dice(2);
        for (size_t i = 0; i < parts; i++) {
                bool own = dice(8) > 0;
                group = 3 * dice(3);
                const char *piece =
                        own ? pieces[dice((uint32_t)n_pieces)] : snippets[dice((uint32_t)n_snippets)];
                uint32_t fixed = dice(2) ? state : 0, n = counts[dice(8)];
                for (uint32_t k = 0; k < n; k++) {
                        uint32_t kept = state;
                        if (fixed)
                                state = fixed;
                        len = add_piece(text, len, piece, own);
                        state = fixed ? kept : state;
                }
        }
        /* Sometimes it is damaged. */
        for (uint32_t i = dice(8) == 0 ? 1 + dice(2) : 0; i > 0 && len > 0; i--)
                text[dice((uint32_t)len)] = "'\"`()[]{}\\#/\n;: "[dice(17)];
        return len;
}

/* ---- both ways ---- */

/* More than can be worked out, or not in time. */
static bool gave_up(const struct scan_report *report, uint64_t took)
{
        if (took > SCAN_TIME_MS * (uint64_t)900000)
                return true;
        for (size_t i = 0; i < report->n_findings; i++)
                if (!strcmp(report->findings[i].rule, "unparsable") && report->findings[i].line == 1 &&
                    report->findings[i].column == 1)
                        return true;
        return report->more && report->verdict & SCAN_UNPARSABLE; /* others may have pushed it out */
}

static bool same(const struct scan_report *a, const struct scan_report *b)
{
        if (a->verdict != b->verdict || a->worst != b->worst || a->more != b->more ||
            a->unknown_command != b->unknown_command || a->n_findings != b->n_findings)
                return false;
        for (size_t i = 0; i < a->n_findings; i++) {
                const struct scan_finding *x = &a->findings[i], *y = &b->findings[i];
                if (x->rule != y->rule || x->line != y->line || x->column != y->column ||
                    strcmp(x->text, y->text) != 0)
                        return false;
        }
        return true;
}

static void show(const struct scan_report *whole, const struct scan_report *thin)
{
        printf("   0x%x and 0x%x, %zu and %zu findings\n", whole->verdict, thin->verdict, whole->n_findings,
               thin->n_findings);
        for (size_t i = 0; i < SCAN_FINDINGS_MAX; i++) {
                const struct scan_finding *x = &whole->findings[i], *y = &thin->findings[i];
                bool a = i < whole->n_findings, b = i < thin->n_findings;
                if (a != b || (a && (x->rule != y->rule || x->line != y->line || x->column != y->column))) {
                        printf("   %s %u:%u and %s %u:%u\n", a ? x->rule : "-", a ? x->line : 0,
                               a ? x->column : 0, b ? y->rule : "-", b ? y->line : 0, b ? y->column : 0);
                        return;
                }
        }
}

const TSLanguage *tree_sitter_python(void);
const TSLanguage *tree_sitter_bash(void);
const TSLanguage *tree_sitter_javascript(void);

static void compare_trees(enum scan_language number, const char *text, size_t len, uint32_t seed)
{
        const TSLanguage *language = number == SCAN_PYTHON ? tree_sitter_python()
                                     : number == SCAN_BASH ? tree_sitter_bash()
                                                           : tree_sitter_javascript();
        if (!stock_same(language, text, len) && test_fail(__FILE__, __LINE__))
                printf("%s, seed %u: another tree\n", scan_language_name(number), seed);
        if (!same_walk(language, text, len) && test_fail(__FILE__, __LINE__))
                printf("%s, seed %u: another walk\n", scan_language_name(number), seed);
}

/* Whether anything was left out. */
static bool compare(enum scan_language language, const char *text, size_t len, uint32_t seed)
{
        static struct scan_report whole, thin;
        static const char *const allowed[] = {"json", "os.path"};
        const struct scan_rules rules = {allowed, 2}, *used = seed % 4 == 0 ? &rules : NULL;
        struct thin left = {0};
        thin_from = SIZE_MAX;
        uint64_t took = source_now();
        CHECK_INT(scan(language, text, len, used, &whole), 0);
        took = source_now() - took;
        thin_from = 0;
        CHECK_INT(scan(language, text, len, used, &thin), 0);
        if (!same(&whole, &thin) && !gave_up(&whole, took) && test_fail(__FILE__, __LINE__)) {
                printf("%s, seed %u\n", scan_language_name(language), seed);
                show(&whole, &thin);
                if (getenv("CELLA_TEST_SEED"))
                        fwrite(text, 1, len, stderr);
        }
        CHECK_INT(thin_init(&left, &languages[language], text, len), 0);
        bool less = left.text != NULL;
        thin_done(&left);
        return less;
}

/* Each snippet of the corpus: three times, and among a thousand lines that say nothing. */
static void run_corpus(enum scan_language language, const char *dull)
{
        static char text[TEXT_MAX * 3];
        read_snippets(scan_language_name(language));
        CHECK(n_snippets > 30);
        for (size_t i = 0; i < n_snippets; i++) {
                size_t len = 0;
                for (int k = 0; k < 3; k++)
                        len += (size_t)sprintf(text + len, "%s", snippets[i]);
                compare(language, text, len, (uint32_t)i);
                compare_trees(language, text, len, (uint32_t)i);
                for (int k = 0; k < 1000; k++)
                        len += (size_t)sprintf(text + len, "%s", dull);
                len += (size_t)sprintf(text + len, "%s", snippets[i]);
                for (int k = 0; k < 1000; k++)
                        len += (size_t)sprintf(text + len, "%s", dull);
                compare(language, text, len, (uint32_t)i);
        }
        free_snippets();
}

static void run(enum scan_language language, const char *const *pieces, size_t n_pieces)
{
        const char *from = getenv("CELLA_TEST_SEED"), *rounds = getenv("CELLA_TEST_ROUNDS");
        uint32_t first = from ? (uint32_t)strtoul(from, NULL, 10) : 1,
                 n = rounds   ? (uint32_t)strtoul(rounds, NULL, 10)
                     : slow() ? 3
                              : ROUNDS;
        char *text = malloc(TEXT_MAX);
        unsigned less = 0;
        read_snippets(scan_language_name(language));
        for (uint32_t seed = first; seed < first + n; seed++) {
                state = seed * 2654435761u;
                size_t len = make(text, pieces, n_pieces);
                less += compare(language, text, len, seed);
                compare_trees(language, text, len, seed);
        }
        printf("   %s: something was left out of %u texts of %u\n", scan_language_name(language), less, n);
        if (!from && !slow())
                CHECK(less >= n / 6);
        free_snippets();
        free(text);
}

TEST(words_of_the_tables_are_of_interest)
{
        static const struct {
                enum scan_language language;
                const char *words;
                enum thin_class class;
        } cases[] = {
                {SCAN_PYTHON, "os system socket eval __import__ _os write_text import f_globals open",
                 THIN_KNOWN},
                {SCAN_PYTHON, "if else print match None", THIN_FIXED},
                {SCAN_PYTHON, "globals locals", THIN_STOP},
                {SCAN_PYTHON, "a foo systems xos ope", THIN_PLAIN},
                {SCAN_JAVASCRIPT,
                 "require fs writeFileSync child_process constructor eval import net fetch process",
                 THIN_KNOWN},
                {SCAN_JAVASCRIPT, "if let async typeof", THIN_FIXED},
                {SCAN_JAVASCRIPT, "globalThis window", THIN_STOP},
                {SCAN_JAVASCRIPT, "a foo requires $x", THIN_PLAIN},
                {SCAN_BASH, "curl sh rm python3 python3.11 eval read export ssh-keyscan", THIN_KNOWN},
                {SCAN_BASH, "if done echo ls true", THIN_FIXED},
                {SCAN_BASH, "a foo curls", THIN_PLAIN},
        };
        static struct scan_report report;
        for (int language = SCAN_PYTHON; language <= SCAN_JAVASCRIPT; language++) /* which makes the tables */
                CHECK_INT(scan((enum scan_language)language, "a", 1, NULL, &report), 0);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                for (const char *at = cases[i].words; *at; at += *at == ' ') {
                        size_t len = strcspn(at, " ");
                        enum thin_class class = languages[cases[i].language].classify(at, len);
                        if (class != cases[i].class && test_fail(__FILE__, __LINE__))
                                printf("%s: %.*s is %d\n", scan_language_name(cases[i].language), (int)len,
                                       at, class);
                        at += len;
                }
}

TEST(snippets_say_the_same_among_dull_lines)
{
        run_corpus(SCAN_PYTHON, "qq=7\n");
        run_corpus(SCAN_JAVASCRIPT, "qq=7;\n");
        run_corpus(SCAN_BASH, "qq 7\n");
}

TEST(what_looks_dull_and_is_not)
{
        static const struct {
                enum scan_language language;
                const char *text;
        } cases[] = {
                /* Any name may be one of the module's. */
                {SCAN_PYTHON, "from socket import *\nq(1)\nq(1)\nq(1)\nq(1)\n"},
                /* A string that does not end is not like one that does. */
                {SCAN_PYTHON, "v = 'w'\nv = 'w'\nv = 'w\n"},
                {SCAN_JAVASCRIPT, "v = 'w';\nv = 'w';\nv = 'w;\n"},
                /* The reader does not see that the line goes on; the parser does. */
                {SCAN_PYTHON, "\"1\"\np = \"/tmp/\" + \\\r\n\"../1\"\nopen(p, \"w\")\n"},
                /* All elements of a short list count. */
                {SCAN_PYTHON, "__import__(\"\".join([\"s\",\"o\",\"c\",\"k\",\"e\",\"t\"]))\n"},
                /* What is put in place of something is not to become a part of what follows. */
                {SCAN_JAVASCRIPT, "{}{}{}{}{}{}{}{}{}{}<!-- q\n"},
                {SCAN_JAVASCRIPT, "f();f();f();f();(q)\n"},
                /* A name that is put together. */
                {SCAN_JAVASCRIPT, "a['x' + 'y']('z');\na['con' + 'structor']('z');\n"},
                {SCAN_JAVASCRIPT, "k = '1';\nk = '\\143\\157\\156structor';\nq[q](w);\nq[k](w);\n"},
                {SCAN_BASH, "qq\"w\" x\ncu\"rl\" x\ncu\"rl\" x\n"},
                /* What is fed to a shell. */
                {SCAN_BASH, "echo q\necho q | sh\necho q\n"},
                {SCAN_BASH, "q |\nw\nq |\nsh\n"},
                {SCAN_BASH, "cat <<E\nq\nw\nE\nq\nw\nsh <<E\nq\ncurl x\nE\n"},
                {SCAN_BASH, "LD_PRELOAD=3 q\nLD_PRELOAD=4 q\nLD_AUDIT=4 w\n"},
                /* A hundred words in one pair of brackets, but no command of so many. */
                {SCAN_BASH, "(\n" TEN_LINES TEN_LINES TEN_LINES TEN_LINES TEN_LINES "sh q\n)\n"},
                {SCAN_BASH, "find q -delete\nfind w -delete\n"},
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                compare(cases[i].language, cases[i].text, strlen(cases[i].text), 1);
}

/* As many elements of a list as anybody looks at. */
TEST(long_lists_are_worked_out_as_before)
{
        static const char code[] = "import socket";
        static char text[TEXT_MAX];
        for (int n = 0; n < 200; n += 5) {
                size_t len = (size_t)sprintf(text, "exec(bytes([");
                for (int i = 0; i < n; i++)
                        len += (size_t)sprintf(text + len, "32,");
                for (size_t i = 0; i < sizeof code - 1; i++)
                        len += (size_t)sprintf(text + len, "%d,", code[i]);
                len += (size_t)sprintf(text + len, "]).decode())\n");
                compare(SCAN_PYTHON, text, len, 1);
                len = (size_t)sprintf(text, "x = (");
                for (int i = 0; i < n * 10; i++)
                        len += (size_t)sprintf(text + len, "1,");
                len += (size_t)sprintf(text + len, "eval)('1');\nx('2');\n");
                compare(SCAN_JAVASCRIPT, text, len, 1);
        }
}

/* Whether it is taken for dull; then nothing but that it cannot be parsed may be found. */
static bool check_dull(const char *text, size_t len)
{
        static struct scan_report report;
        bool more = false;
        CHECK_INT(scan(SCAN_PYTHON, text, len, NULL, &report), 0);
        for (size_t i = 0; i < report.n_findings; i++)
                more |= strcmp(report.findings[i].rule, "unparsable") != 0;
        const bool dull = scan_is_dull(SCAN_PYTHON, text, len);
        if (dull && more && test_fail(__FILE__, __LINE__))
                printf("%s in what is said to be dull: %.*s\n", report.findings[0].rule, (int)len, text);
        return dull;
}

TEST(nothing_is_found_in_dull_python)
{
        static const char *const words[] = {"q",         "w1",
                                            "import",    "from",
                                            "as",        "def",
                                            "return",    "lambda",
                                            "for",       "in",
                                            "if",        "else",
                                            ":",         "=",
                                            "+",         "(",
                                            ")",         "[",
                                            "]",         "{",
                                            "}",         ".",
                                            ",",         "*",
                                            "**",        "@",
                                            ";",         "\n",
                                            "\n  ",      "1",
                                            "0x1f",      "'s'",
                                            "f'{q}'",    "b'\\x6f\\x73'",
                                            "#",         "class",
                                            "with",      "yield",
                                            "raise",     "await",
                                            "print",     "json",
                                            "math",      "str",
                                            "len",       "range",
                                            "list",      "join",
                                            "bytes",     "numpy",
                                            "pandas",    "time",
                                            "tuple",     "object",
                                            "abs",       "chr",
                                            "functools", "int",
                                            "iter",      "ord",
                                            "round",     "reversed",
                                            "\\\n",      "-",
                                            "..."};
        static const char *const known[] = {"os",         "open",   "eval", "getattr",
                                            "__import__", "socket", "sys",  "vars"};
        static char text[TEXT_MAX];
        unsigned dull = 0;
        read_snippets("python");
        for (size_t i = 0; i < n_snippets; i++) {
                check_dull(snippets[i], strlen(snippets[i]));
                for (const char *line = snippets[i]; *line;
                     line += strcspn(line, "\n"), line += *line == '\n')
                        dull += check_dull(line, strcspn(line, "\n"));
        }
        CHECK(dull > 20); /* or nothing was shown */
        free_snippets();
        state = 1;
        dull = 0;
        for (unsigned i = 0; i < (slow() ? 200u : 20000u); i++) {
                size_t len = 0;
                for (uint32_t n = 1 + dice(12); n > 0; n--)
                        len += (size_t)sprintf(text + len, "%s ",
                                               dice(12) == 0 ? known[dice(sizeof known / sizeof *known)]
                                                             : words[dice(sizeof words / sizeof *words)]);
                dull += check_dull(text, len);
        }
        CHECK(dull > (slow() ? 20 : 2000));
}

TEST(dull_python_is_told_from_other)
{
        static const char *const dull[] = {"print(1+1)",
                                           "",
                                           "import json\nprint(json.dumps({'a': [1, 2.5e3]}))\n",
                                           "x = 'a\\n'  # says it\n",
                                           "def f(a, *b, **c):\n\treturn [q for q in a if q]\n",
                                           "print((",
                                           "raise ValueError('x') from e"};
        static const char *const others[] = {"import os",
                                             "open('x')",
                                             "x.__class__",
                                             "x.f_back",
                                             "'eval'",
                                             "# os",
                                             "from . import a",
                                             "from x import *",
                                             "from q import (\na)",
                                             "import\\\nq",
                                             "caf\303\251",
                                             "a\rb",
                                             "a\0b",
                                             "# coding: rot13",
                                             "vars()",
                                             "_os"};
        static char text[TEXT_MAX];
        for (size_t i = 0; i < sizeof dull / sizeof *dull; i++)
                if (!check_dull(dull[i], strlen(dull[i])) && test_fail(__FILE__, __LINE__))
                        printf("not taken for dull: %s\n", dull[i]);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
                if (check_dull(others[i], strcmp(others[i], "a") ? strlen(others[i]) : 3) &&
                    test_fail(__FILE__, __LINE__))
                        printf("taken for dull: %s\n", others[i]);
        /* RULE_LONG_LITERAL, and an import of more than anybody looks at. */
        memset(text, 'q', sizeof text);
        CHECK(check_dull(text, 900));
        CHECK(!check_dull(text, 1001));
        size_t len = (size_t)sprintf(text, "import q");
        while (len < 200)
                len += (size_t)sprintf(text + len, ", q");
        CHECK(!check_dull(text, len));
}

TEST(python_texts_say_the_same)
{
        run(SCAN_PYTHON, python, sizeof python / sizeof *python);
}

TEST(javascript_texts_say_the_same)
{
        run(SCAN_JAVASCRIPT, javascript, sizeof javascript / sizeof *javascript);
}

TEST(bash_texts_say_the_same)
{
        run(SCAN_BASH, bash, sizeof bash / sizeof *bash);
}
