/* test/scan/limits.c -- what the scanner costs, and that no text can make it cost more: time, memory, stack.
 */
#include <pthread.h>
#include <sys/resource.h>

#include "../unit/test.h"
#include "scan/scan.h"

#define MB ((size_t)1000000)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#define STACK_SIZE ((size_t)4 << 20) /* stack frames of sanitizer builds are many times as large */
#else
#define SANITIZED false
#define STACK_SIZE ((size_t)384 << 10)
#endif

static struct scan_report report;

static double now_ms(void)
{
        struct timespec now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Sanitizers and valgrind are ten times as slow. */
static bool slow(void)
{
        return SANITIZED || getenv("CELLA_TEST_SLOW");
}

static char *repeat(const char *piece, size_t piece_len, size_t len)
{
        char *text = malloc(len + 1);
        for (size_t i = 0; i < len; i++)
                text[i] = piece[i % piece_len];
        return text;
}

/* ---- ordinary programs: 200 to 250 nodes a kilobyte, as the libraries that come with the interpreters have
 * ---- */

static const char python[] =
        "\"\"\"Orders and the totals of their customers.\n\n"
        "An order is a customer and a list of lines, each with a price and a count.  Orders are read from a "
        "file\n"
        "that has one in each line, as JSON; what is not JSON is an error that tells the file and the line, "
        "so that\n"
        "whoever has to look for it finds it.  Totals are kept with two digits, as they are on the invoices; "
        "what is\n"
        "less than the smallest amount that anybody asks for is left out of the report.\n\n"
        "Nothing in here depends on the order in which the orders come, but the report is sorted by the "
        "names of\n"
        "the customers, because people look things up in it.\n\"\"\"\n"
        "import json\nfrom collections import defaultdict\nfrom dataclasses import dataclass, field\n\n\n"
        "@dataclass\nclass Order:\n    customer: str\n    lines: list = field(default_factory=list)\n\n"
        "    def total(self, discount=0.0):\n"
        "        \"\"\"The sum over all lines, after the discount.\"\"\"\n"
        "        amount = sum(line['price'] * line['count'] for line in self.lines)\n"
        "        return round(amount * (1 - discount), 2)\n\n\n"
        "def read_orders(path):\n    # Each line is an order of its own.\n"
        "    with open(path, encoding='utf-8') as source:\n        for number, text in enumerate(source, "
        "1):\n"
        "            try:\n                record = json.loads(text)\n            except ValueError as "
        "error:\n"
        "                raise ValueError(f'{path}:{number}: not JSON: {error}') from error\n"
        "            yield Order(record['customer'], record.get('lines', []))\n\n\n"
        "def totals_of_customers(orders, smallest=10):\n    totals = defaultdict(float)\n    for order in "
        "orders:\n"
        "        totals[order.customer] += order.total()\n"
        "    return {name: value for name, value in sorted(totals.items()) if value >= smallest}\n\n\n"
        "def report(totals, width=40):\n    for name, value in totals.items():\n"
        "        print(f'{name:<{width}} {value:>10.2f}')\n    print('-' * (width + 11))\n\n\n";

static const char javascript[] =
        "/* Orders and the totals of their customers.\n *\n"
        " * An order is a customer and a list of lines, each with a price and a count.  Orders are read from "
        "a file\n"
        " * that has one in each line, as JSON; what is not JSON is an error that tells the file and the "
        "line, so that\n"
        " * whoever has to look for it finds it.  Totals are kept with two digits, as they are on the "
        "invoices; what is\n"
        " * less than the smallest amount that anybody asks for is left out of the report.\n *\n"
        " * Nothing in here depends on the order in which the orders come, but the report is sorted by the "
        "names of\n"
        " * the customers, because people look things up in it.  Files are in the directory data, beside the "
        "program;\n"
        " * where that is, is for whoever starts the program to say.\n */\n"
        "const fs = require('fs');\nconst path = require('path');\n\n"
        "class Order {\n  constructor(customer, lines = []) {\n    this.customer = customer;\n    this.lines "
        "= lines;\n  }\n\n"
        "  /** The sum over all lines, after the discount. */\n"
        "  total(discount = 0) {\n    const amount = this.lines.reduce((sum, line) => sum + line.price * "
        "line.count, 0);\n"
        "    return Math.round(amount * (1 - discount) * 100) / 100;\n  }\n}\n\n"
        "function readOrders(file) {\n  const text = fs.readFileSync(path.join('data', file), 'utf8');\n"
        "  return text.split('\\n').filter(Boolean).map((line, index) => {\n    try {\n"
        "      const { customer, lines } = JSON.parse(line);\n      return new Order(customer, lines);\n"
        "    } catch (error) {\n      throw new Error(`${file}:${index + 1}: not JSON: ${error.message}`);\n "
        "   }\n  });\n}\n\n"
        "async function totalsOfCustomers(orders, { smallest = 10 } = {}) {\n  const totals = new Map();\n"
        "  for (const order of orders) {\n"
        "    totals.set(order.customer, (totals.get(order.customer) ?? 0) + order.total());\n  }\n"
        "  return [...totals].filter(([, value]) => value >= smallest).sort();\n}\n\n"
        "module.exports = { Order, readOrders, totalsOfCustomers };\n\n";

static const char bash[] =
        "# Builds the release: compiles, tests, and puts everything into one archive.\n#\n"
        "# The version is the first argument; without one it is a build for developers, which nobody should "
        "use for\n"
        "# anything else.  Everything goes to build/release, one directory for each architecture, with the "
        "log of\n"
        "# the compiler beside the program, because that is what is asked for first when something is "
        "wrong.\n#\n"
        "# Files that are larger than a megabyte are told, since they have to be copied to small machines.  "
        "Nothing\n"
        "# is fetched from anywhere: what is needed to build has to be there before.\n"
        "set -eu\nversion=${1:-development}\nout=build/release\n\n"
        "say() {\n    printf '== %s\\n' \"$*\" >&2\n}\n\n"
        "compile() {\n    # One directory for each architecture.\n    for arch in x86_64 aarch64; do\n"
        "        say \"compiling for $arch\"\n        mkdir -p \"$out/$arch\"\n"
        "        if ! cc -O2 -o \"$out/$arch/program\" main.c helper.c 2>\"$out/$arch/log\"; then\n"
        "            cat \"$out/$arch/log\"\n            return 1\n        fi\n    done\n}\n\n"
        "check_files() {\n    while read -r name size; do\n        if [ \"$size\" -gt 1000000 ]; then\n"
        "            say \"$name is large: $size bytes\"\n        fi\n    done < files.txt\n"
        "    grep -c 'error' \"$out/log\" | sort -n | head -n 10 || true\n}\n\n"
        "case $version in\ndevelopment) say 'not for users' ;;\n[0-9]*) say \"version $version\" ;;\n"
        "*) say \"what is $version?\" && exit 2 ;;\nesac\n\n";

/* A megabyte of ordinary source stays within the limits. */
static void ordinary(enum scan_language language, const char *piece, size_t piece_len)
{
        char *text = repeat(piece, piece_len, MB);
        size_t len = slow() ? piece_len * 4 : MB - MB % piece_len;
        double begun = now_ms();
        CHECK_INT(scan(language, text, len, NULL, NULL, &report), 0);
        printf("   %s: %.0f ms for %.2f MB\n", scan_language_name(language), now_ms() - begun,
               (double)len / MB);
        CHECK((report.verdict & SCAN_UNPARSABLE) == 0);
        CHECK(!report.incomplete && !report.late);
        free(text);
}

TEST(a_megabyte_of_python_is_scanned_in_time)
{
        ordinary(SCAN_PYTHON, python, sizeof python - 1);
}

TEST(a_megabyte_of_javascript_is_scanned_in_time)
{
        ordinary(SCAN_JAVASCRIPT, javascript, sizeof javascript - 1);
}

TEST(a_megabyte_of_bash_is_scanned_in_time)
{
        ordinary(SCAN_BASH, bash, sizeof bash - 1);
}

/* ---- limits of time, and cancellation ---- */

TEST(a_scan_that_is_out_of_time_is_late)
{
        const struct scan_limits limits = {.time_us = 1};
        for (int language = SCAN_PYTHON; language <= SCAN_JAVASCRIPT; language++) {
                char *text = repeat("a b(c)\n", 7, MB);
                CHECK_INT(scan((enum scan_language)language, text, MB, NULL, &limits, &report), 0);
                CHECK(report.late && report.incomplete);
                CHECK(report.verdict & SCAN_UNPARSABLE);
                free(text);
        }
}

TEST(a_cancelled_scan_is_late)
{
        const atomic_bool cancelled = true;
        const struct scan_limits limits = {.cancelled = &cancelled};
        CHECK_INT(scan(SCAN_PYTHON, "x = 1\n", 6, NULL, &limits, &report), 0);
        CHECK(report.late && report.incomplete);
}

TEST(a_tree_that_is_too_deep_is_incomplete_but_not_late)
{
        if (slow())
                return;
        char *text = repeat("+1", 2, 300000);
        CHECK_INT(scan(SCAN_PYTHON, text, 300000, NULL, NULL, &report), 0);
        CHECK(report.incomplete && !report.late);
        free(text);
}

TEST(malformed_code_is_not_incomplete)
{
        CHECK_INT(scan(SCAN_PYTHON, "x = (", 5, NULL, NULL, &report), 0);
        CHECK_INT(report.verdict, SCAN_UNPARSABLE);
        CHECK(!report.incomplete && !report.late);
}

/* ---- hostile texts ---- */

static void bounded(enum scan_language language, const char *text, size_t len)
{
        const struct scan_limits limits = {.time_us = 1000000};
        double begun = now_ms();
        CHECK_INT(scan(language, text, len, NULL, &limits, &report), 0);
        double took = now_ms() - begun;
        CHECK(report.n_findings <= SCAN_FINDINGS_MAX);
        if (!slow() && took > 1500 && test_fail(__FILE__, __LINE__))
                printf("%.0f ms for %s: %.8s…\n", took, scan_language_name(language), text);
}

static void for_each_language(const char *piece, size_t piece_len, size_t len)
{
        char *text = repeat(piece, piece_len, len);
        for (int language = SCAN_PYTHON; language <= SCAN_JAVASCRIPT; language++)
                bounded((enum scan_language)language, text, len);
        free(text);
}

TEST(a_megabyte_of_brackets_is_unparsable)
{
        static const char brackets[] = "([{";
        for (size_t i = 0; i < 3; i++) {
                for_each_language(&brackets[i], 1, slow() ? MB / 100 : i == 0 ? MB : MB / 5);
                CHECK(report.verdict & SCAN_UNPARSABLE);
        }
}

TEST(long_repetitions_are_scanned_in_bounds)
{
        static const char *const pieces[] = {
                "\"",      "'",    "`",      "$(",           "a ",         "if ",
                "f()",     "a.b",  "1+",     "not ",         "\n",         "cat <<A\n",
                "lambda:", "=>",   "${",     "x=x\n",        "\\",         "|",
                "eval(",   "f\"{", "async ", "a?b:",         "import a\n", "\xff\xfe",
                "a[",      "-",    "&",      "((",           "\t\n  x:",   "x=y=",
                "<<<",     ";;",   "case ",  "\xe2\x80\xae", "`${",        "/*",
                "//x\n",   "#\n",  "'''",    "{a,",
        };
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
                for_each_language(pieces[i], strlen(pieces[i]), slow() ? 60 : 5000);
}

/* Every name is bound to the one before; a text is put together of ever longer ones. */
TEST(chains_of_names_are_scanned_in_bounds)
{
        size_t size = 1 << 20, len = 0, n = slow() ? 100 : 5000;
        char *text = malloc(size);
        len += (size_t)sprintf(text, "a0 = 'x'\n");
        for (size_t i = 1; i < n; i++)
                len += (size_t)sprintf(text + len, "a%zu = a%zu + a%zu + a%zu\n", i, i - 1, i - 1, i - 1);
        for (size_t i = 0; i < n; i++)
                len += (size_t)sprintf(text + len, "__import__(a%zu)\n", i);
        bounded(SCAN_PYTHON, text, len);
        CHECK(report.verdict & SCAN_EVALUATES);
        len = 0;
        for (size_t i = 0; i < n; i++)
                len += (size_t)sprintf(text + len, "b%zu = b%zu\nb%zu(b%zu)\n", i, i + 1, i, (i * 7) % n);
        bounded(SCAN_PYTHON, text, len);
        bounded(SCAN_JAVASCRIPT, text, len);
        bounded(SCAN_BASH, text, len);
        free(text);
}

/* a().b().c(): the object of each call is evaluated once. */
TEST(long_chains_of_calls_are_scanned_in_bounds)
{
        static const char *const links[] = {".then(f)", ".a()", ".b(x).c", "\n.d(1)"};
        for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
                char text[2000] = "x = (y";
                for (int k = 0; k < 60; k++)
                        strcat(text, links[i]);
                strcat(text, "())\n");
                for (int k = 0; k < 2; k++) {
                        double begun = now_ms();
                        enum scan_language language = k == 0 ? SCAN_PYTHON : SCAN_JAVASCRIPT;
                        CHECK_INT(scan(language, text, strlen(text), NULL, NULL, &report), 0);
                        CHECK_INT(report.verdict, 0);
                        if (!slow())
                                CHECK(now_ms() - begun < 100);
                }
        }
}

/* Deeply nested code in constants, and much of it. */
TEST(nested_code_is_scanned_in_bounds)
{
        size_t len = 0, n = slow() ? 150 : 5000;
        char *text = malloc(n * 64);
        for (size_t i = 0; i < n; i++)
                len += (size_t)sprintf(text + len, "exec(\"import os; os.system('ls %zu')\")\n", i);
        bounded(SCAN_PYTHON, text, len);
        CHECK(report.verdict & SCAN_UNPARSABLE); /* what was not parsed is reported */
        free(text);
        static const char deep[] = "bash -c 'bash -c \"bash -c \\\"bash -c curl\\\"\"'";
        bounded(SCAN_BASH, deep, sizeof deep - 1);
        CHECK(report.verdict & SCAN_UNPARSABLE);
}

TEST(random_bytes_are_scanned_in_bounds)
{
        size_t len = slow() ? 1000 : 60000;
        char *text = malloc(len);
        uint32_t state = 1;
        for (int kind = 0; kind < 2; kind++) {
                for (size_t i = 0; i < len; i++) {
                        state = state * 1664525 + 1013904223;
                        text[i] =
                                kind == 0 ? (char)(state >> 24) : "()[]{}'\"`$ \n=,.:x1"[(state >> 24) % 18];
                }
                for (int language = SCAN_PYTHON; language <= SCAN_JAVASCRIPT; language++) {
                        bounded((enum scan_language)language, text, len);
                        CHECK(report.verdict & SCAN_UNPARSABLE);
                }
        }
        free(text);
}

TEST(nuls_hide_nothing)
{
        static const char text[] = "x = 1\0\nimport socket\n";
        CHECK_INT(scan(SCAN_PYTHON, text, sizeof text - 1, NULL, NULL, &report), 0);
        CHECK_INT(report.verdict, SCAN_UNPARSABLE | SCAN_USES_NETWORK);
        for_each_language("\0", 1, slow() ? MB / 200 : MB);
        CHECK(report.verdict & SCAN_UNPARSABLE);
}

/* Each text is in memory of its exact size: sanitizers report a read past its end.  Where a text ends too
 * early, parsers put empty nodes behind its end. */
TEST(the_scanner_does_not_read_past_the_end)
{
        static const char *const texts[] = {
                "\"\"|", "a|",     "a &&",    "a=",  "a+",     "for a in", "cat <<", "$((",
                "read",  "import", "a.",      "x=>", "`${a",   "a[",       "if",     "'",
                "f(",    "a=b;",   "from a ", "not", "case a", "new ",
        };
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                size_t len = strlen(texts[i]);
                char *text = memcpy(malloc(len), texts[i], len);
                for (int language = SCAN_PYTHON; language <= SCAN_JAVASCRIPT; language++)
                        bounded((enum scan_language)language, text, len);
                free(text);
        }
}

TEST(a_text_that_is_too_long_is_unparsable)
{
        char *text = repeat("x = 1\n", 6, SCAN_LENGTH_MAX + 1);
        CHECK_INT(scan(SCAN_PYTHON, text, SCAN_LENGTH_MAX + 1, NULL, NULL, &report), 0);
        CHECK_INT(report.verdict, SCAN_UNPARSABLE);
        free(text);
}

/* ---- threads with small stacks, several at once ---- */

static void *in_thread(void *userdata)
{
        const enum scan_language *language = userdata;
        struct scan_report *own = calloc(1, sizeof *own);
        const char *piece = *language == SCAN_PYTHON ? python : *language == SCAN_BASH ? bash : javascript;
        static const char deep[] = "[a.b(c)+";
        size_t len = slow() ? 2000 : 40000;
        char *text = repeat(deep, sizeof deep - 1, len);
        bool good = scan(*language, piece, strlen(piece), NULL, NULL, own) == 0 &&
                    !(own->verdict & SCAN_UNPARSABLE) && scan(*language, text, len, NULL, NULL, own) == 0 &&
                    own->verdict & SCAN_UNPARSABLE;
        free(text);
        free(own);
        return good ? userdata : NULL;
}

TEST(scans_run_in_threads_with_small_stacks)
{
        static enum scan_language languages[] = {SCAN_PYTHON, SCAN_BASH, SCAN_JAVASCRIPT, SCAN_PYTHON};
        pthread_t threads[4];
        pthread_attr_t attributes;
        void *result;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, STACK_SIZE);
        for (int i = 0; i < 4; i++)
                CHECK_INT(pthread_create(&threads[i], &attributes, in_thread, &languages[i]), 0);
        for (int i = 0; i < 4; i++) {
                CHECK_INT(pthread_join(threads[i], &result), 0);
                CHECK(result == &languages[i]);
        }
        pthread_attr_destroy(&attributes);
}

TEST(memory_stayed_within_its_limit)
{
        struct rusage usage;
        if (slow())
                return; /* sanitizers and valgrind have memory of their own */
        getrusage(RUSAGE_SELF, &usage);
        /* What malloc() needs for itself is not counted. */
        CHECK((size_t)usage.ru_maxrss * 1024 < SCAN_MEMORY_BYTES / 4 * 5 + ((size_t)96 << 20));
        printf("   at most %ld MB\n", usage.ru_maxrss / 1024);
}
