/* scan/program_scan.c -- runs both passes over a text and over the code in its constants. */
#include <errno.h>
#include <string.h>

#include "scan/program.h"

static bool on_error(void *context, TSNode node)
{
        struct program_walk *walk = context;
        const struct program_language *language = walk->program->language;
        if (language->is_harmless_error && language->is_harmless_error(walk->program->source, node))
                return false;
        report_node(walk->program->report, RULE_UNPARSABLE, node);
        return true;
}

void program_unparsable(const struct program_job *job)
{
        report_at(job->report, RULE_UNPARSABLE, 1, 1, job->text, job->len);
}

static int program_scan_walk(struct program *program)
{
        struct program_walk walk = {
                .program = program,
                .walker = {.enter = program->language->enter, .error = on_error, .context = &walk}};
        return source_walk(program->source, &walk.walker);
}

static int program_scan_check(struct program *program)
{
        for (uint32_t i = 0; i < program->n_mentions; i++) {
                program->language->check(program, &program->mentions[i]);
                if (i % 64 == 0 && budget_over(program->inside->budget))
                        return -E2BIG;
        }
        if (program->failed)
                return program->failed;
        /* The rest, which was not evaluated, may be anything. */
        return program->steps == 0 || program->arena.exhausted ? -E2BIG : 0;
}

int program_scan(const struct program_language *language, const struct program_job *job)
{
        struct program program;
        struct source source;
        int r = source_init(&source, language->grammar, job->text, job->len, job->inside->budget);
        if (r == 0) {
                r = program_init(&program, &source, language, job);
                if (r == 0)
                        r = program_scan_walk(&program);
                if (r == 0)
                        r = program_scan_check(&program);
                program_done(&program);
        }
        source_done(&source);
        if (r == -E2BIG) {
                program_unparsable(job);
                job->report->to->incomplete = true;
                r = 0;
        }
        return r;
}

void program_inside(struct program *p, enum scan_language language, const char *text, size_t len, TSNode node)
{
        const struct source *source = p->source;
        TSPoint point = ts_node_start_point(node);
        uint32_t line = point.row + 1, column = point.column + 1;
        const char *at = source->text + ts_node_start_byte(node);
        bool part = text >= at && text + len <= source->text + ts_node_end_byte(node);
        for (; part && at < text; at++) {
                line += *at == '\n';
                column = *at == '\n' ? 1 : column + 1;
        }
        struct report report = *p->report;
        report_place(&report, &line, &column);
        report = (struct report){p->report->to, text, line, column, p->report->fixed || !part};
        const struct program_job job = {text, len, &report, p->rules, p->inside};
        int r = p->inside->scan(language, &job);
        if (r < 0)
                p->failed = r;
}
