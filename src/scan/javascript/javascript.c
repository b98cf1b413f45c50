#include "scan/javascript/javascript.h"

#include <pthread.h>

#include "base/auto.h"

const TSLanguage *tree_sitter_javascript(void);

static const char *const kinds[] = {
#define JAVASCRIPT_KIND_NAME(id, name) name,
        JAVASCRIPT_KINDS(JAVASCRIPT_KIND_NAME)};

static struct grammar grammar;
static int prepared;

static void javascript_prepare(void)
{
        prepared = grammar_init(&grammar, tree_sitter_javascript(), kinds, ARRAY_LEN(kinds));
        if (prepared == 0)
                prepared = javascript_names_init();
}

int javascript_scan(const struct program_job *job)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        static const struct program_language language = {
                .grammar = &grammar,
                .enter = javascript_enter,
                .check = javascript_check,
                .evaluate = javascript_evaluate,
                .add_member = javascript_add_member,
                .is_builtin = javascript_is_builtin,
        };
        pthread_once(&once, javascript_prepare);
        return prepared < 0 ? prepared : program_scan(&language, job);
}
