/* scan/check.h -- checks of the second pass that several languages share. */
#pragma once
#include "scan/program.h"

static inline void check_say(struct program *p, enum rule rule, TSNode node)
{
        report_node(p->report, rule, node);
}

/* Whether there is a list of allowed imports. */
static inline bool check_limited(const struct program *p)
{
        return p->rules && p->rules->allowed_imports;
}

/* Reports an import whose name is not constant; it is refused if imports are limited. */
void check_not_constant(struct program *p, TSNode node);

/* Reports code that is evaluated, and scans it as far as it is constant. Unknown code could import
 * anything. */
void check_code(struct program *p, enum scan_language language, TSNode node, const struct values *code);

/* An import with computed names: calls check_one for each constant name, and reports names that are not
 * constant. */
void check_modules(struct program *p, TSNode node, const struct values *names,
                   void (*check_one)(struct program *p, TSNode node, const char *name, size_t len));

/* A call that opens a file with a mode or flags.  An unknown mode may write. */
void check_open(struct program *p, TSNode node, const struct values *path, const struct values *mode,
                bool has_mode);

/* A call that changes the working directory. */
void check_chdir(struct program *p, TSNode node, const struct values *path);

/* Reports a call of a known name, if its check is one that all languages make in the same way.  check_one: as
 * in check_modules().  Returns false if not. */
bool check_call(struct program *p, const struct known *known, const struct mention *m,
                const struct arguments *arguments,
                void (*check_one)(struct program *p, TSNode node, const char *name, size_t len));
/* Reports a long literal without a space. */
void check_long_literal(struct program *p, TSNode node);

/* A command given as a list of words: it is scanned as a shell command line. */
struct check_line {
        char text[2048];
        size_t len;
        bool full;
};
void check_line_add(struct check_line *line, const struct values *word);
void check_line_add_all(struct program *p, struct check_line *line, const struct value *list);
