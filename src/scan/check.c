#include "scan/check.h"

#include <ctype.h>
#include <string.h>

#include "scan/names.h"
#include "scan/place.h"

#define LONG_RUN 1000
#define WORDS_MAX 32

void check_not_constant(struct program *p, TSNode node)
{
        check_say(p, RULE_IMPORT_NOT_CONSTANT, node);
        if (check_limited(p))
                p->report->to->verdict |= SCAN_NOT_ALLOWED;
}

void check_code(struct program *p, enum scan_language language, TSNode node, const struct values *code)
{
        bool decoded = false, constant = !code->other && code->n > 0;
        for (unsigned i = 0; i < code->n; i++) {
                const struct value *v = &code->v[i];
                decoded |= v->decoded;
                constant &= v->kind == VALUE_TEXT && v->text;
                if (v->kind == VALUE_TEXT && v->text)
                        program_inside(p, language, v->text, v->len, node);
        }
        if (decoded)
                check_say(p, RULE_OBFUSCATED_CODE, node);
        else
                check_say(p, constant ? RULE_EVALUATE_CONSTANT : RULE_EVALUATE, node);
        if (!constant && check_limited(p))
                check_not_constant(p, node);
}

static bool check_mode_writes(const struct values *mode)
{
        for (unsigned i = 0; i < mode->n; i++) {
                const struct value *v = &mode->v[i];
                if (v->kind == VALUE_NAME ? !strstr(v->text, "O_RDONLY") : v->kind != VALUE_TEXT || !v->text)
                        return true;
                for (size_t k = 0; k < v->len && v->kind == VALUE_TEXT; k++)
                        if (strchr("wax+", v->text[k]))
                                return true;
        }
        return mode->other;
}

void check_modules(struct program *p, TSNode node, const struct values *names,
                   void (*check_one)(struct program *p, TSNode node, const char *name, size_t len))
{
        bool constant = !names->other && names->n > 0;
        for (unsigned i = 0; i < names->n; i++) {
                if (names->v[i].kind == VALUE_TEXT && names->v[i].text)
                        check_one(p, node, names->v[i].text, names->v[i].len);
                else
                        constant = false;
        }
        if (!constant)
                check_not_constant(p, node);
}

void check_open(struct program *p, TSNode node, const struct values *path, const struct values *mode,
                bool has_mode)
{
        check_say(p, has_mode && check_mode_writes(mode) ? place_write(path) : place_read(path), node);
}

void check_chdir(struct program *p, TSNode node, const struct values *path)
{
        if (place_write(path) != RULE_FILE_WRITE)
                check_say(p, RULE_DIRECTORY_CHANGE, node);
}

/* Reports the files that a call writes. */
static void check_written(struct program *p, TSNode node, const struct known *known,
                          const struct arguments *arguments, uint32_t scope)
{
        static const char *const names[][4] = {{"path", "src", "name", "file"},
                                               {"dst", "target", "f", "extract_dir"}};
        const bool tree = known->rule == RULE_FILE_TREE_OUTSIDE;
        struct values path;

        for (size_t i = 0; i < 2; i++) {
                bool there = false;
                if (!(known->files & 1u << i))
                        continue;
                for (size_t k = 0; k < 4 && !there; k++)
                        there = program_argument(p, arguments, i, names[i][k], scope, &path);
                check_say(p,
                          !there ? RULE_FILE_WRITE_UNKNOWN
                          : tree ? place_tree(&path)
                                 : place_write(&path),
                          node);
        }
}

bool check_call(struct program *p, const struct known *known, const struct mention *m,
                const struct arguments *arguments,
                void (*check_one)(struct program *p, TSNode node, const char *name, size_t len))
{
        struct values first, second;

        switch (known->check) {
        case CHECK_USE:
        case CHECK_CALL:
                if (known->rule == RULE_IMPORT_NOT_CONSTANT)
                        check_not_constant(p, m->node);
                else
                        check_say(p, known->rule, m->node);
                return true;
        case CHECK_IMPORT:
                program_argument(p, arguments, 0, "name", m->scope, &first);
                check_modules(p, m->node, &first, check_one);
                return true;
        case CHECK_OPEN:
                program_argument(p, arguments, 0, "file", m->scope, &first);
                check_open(p, m->node, &first, &second,
                           program_argument(p, arguments, 1, "mode", m->scope, &second));
                return true;
        case CHECK_READ:
                if (program_argument(p, arguments, 0, NULL, m->scope, &first))
                        check_say(p, place_read(&first), m->node);
                return true;
        case CHECK_WRITE:
                check_written(p, m->node, known, arguments, m->scope);
                return true;
        case CHECK_CHDIR:
                program_argument(p, arguments, 0, "path", m->scope, &first);
                check_chdir(p, m->node, &first);
                return true;
        default:
                return false;
        }
}

void check_long_literal(struct program *p, TSNode node)
{
        size_t len, run = 0;
        const char *text = source_text(p->source, node, &len);
        for (size_t i = 0; i < len && run <= LONG_RUN; i++)
                run = isspace((unsigned char)text[i]) ? 0 : run + 1;
        if (run > LONG_RUN)
                check_say(p, RULE_LONG_LITERAL, node);
}

void check_line_add(struct check_line *line, const struct values *word)
{
        static const char unknown[] = "\"$unknown\" ";
        const struct value *v = &word->v[0];
        bool known = word->n > 0 && v->kind == VALUE_TEXT && v->text;
        size_t most = known ? (size_t)v->len * 4 + 3 : sizeof unknown;
        line->full |= most > sizeof line->text - line->len;
        if (line->full)
                return;
        if (!known) {
                memcpy(line->text + line->len, unknown, sizeof unknown - 1);
                line->len += sizeof unknown - 1;
                return;
        }
        line->text[line->len++] = '\'';
        for (size_t i = 0; i < v->len; i++) {
                if (v->text[i] == '\'') {
                        memcpy(line->text + line->len, "'\\'", 3);
                        line->len += 3;
                }
                line->text[line->len++] = v->text[i];
        }
        line->text[line->len++] = '\'';
        line->text[line->len++] = ' ';
}

void check_line_add_all(struct program *p, struct check_line *line, const struct value *list)
{
        TSNode words[WORDS_MAX];
        struct values word;
        size_t n = source_children(p->source, list->node, words, WORDS_MAX);
        for (size_t i = 0; i < n; i++) {
                program_evaluate(p, words[i], list->scope, &word);
                check_line_add(line, &word);
        }
}
