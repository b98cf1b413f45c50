/* scan/program_scan.c -- both looks at a text, and at the code in its constants. */
#include <errno.h>
#include <string.h>

#include "scan/inside.h"
#include "scan/program.h"
#include "scan/thin.h"

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

/* -EAGAIN: what was left out of the text was not what it was taken for. */
static int walk(struct program *program, const struct thin *thin)
{
        struct program_walk walk = {.program = program,
                                    .walker = {.enter = program->language->enter,
                                               .error = on_error,
                                               .context = &walk,
                                               .end = program->inside->end,
                                               .marks = thin->marks,
                                               .n_marks = thin->n_marks,
                                               .holes = thin->holes,
                                               .n_holes = thin->n_holes}};
        int r = source_walk(program->source, &walk.walker);
        bool wrong = walk.walker.n_found < thin->n_marks || walk.walker.in_hole;
        return r == 0 && wrong ? -EAGAIN : r;
}

static int check(struct program *program)
{
        for (uint32_t i = 0; i < program->n_mentions; i++) {
                program->language->check(program, &program->mentions[i]);
                if (i % 64 == 0 && source_now() > program->inside->end)
                        return -E2BIG;
        }
        if (program->failed)
                return program->failed;
        /* What could not be followed to its end may be anything. */
        return program->steps == 0 || program->arena.exhausted ? -E2BIG : 0;
}

static int scan_text(const struct program_language *language, const struct program_job *job,
                     const struct thin *thin)
{
        struct program program;
        struct source source;
        const char *text = thin->text ? thin->text : job->text;
        int r = source_init(&source, language->grammar, text, job->len, thin->left, job->inside->end);
        if (r == 0 && thin->text && source.has_error)
                r = -EAGAIN;
        if (r == 0) {
                r = program_init(&program, &source, language, job);
                if (r == 0)
                        r = walk(&program, thin);
                if (r == 0)
                        r = check(&program);
                program_done(&program);
        }
        source_done(&source);
        return r;
}

int program_scan(const struct program_language *language, const struct program_job *job)
{
        struct thin thin = {.left = job->len};
        /* With a list of allowed imports every name counts: nothing is left out. */
        int r = job->rules && job->rules->allowed_imports
                        ? 0
                        : thin_init(&thin, language->thin, job->text, job->len);
        if (r == 0)
                r = scan_text(language, job, &thin);
        if (r == -EAGAIN)
                r = scan_text(language, job, &(const struct thin){.left = job->len});
        thin_done(&thin);
        if (r == -E2BIG) {
                program_unparsable(job);
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
        int r = inside_scan(language, &job);
        if (r < 0)
                p->failed = r;
}
