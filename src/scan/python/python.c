#include "scan/python/python.h"

#include <pthread.h>

#include "base/auto.h"

const TSLanguage *tree_sitter_python(void);

static const char *const kinds[] = {
#define PYTHON_KIND_NAME(id, name) name,
        PYTHON_KINDS(PYTHON_KIND_NAME)};

static struct grammar grammar;
static int prepared;

static void python_prepare(void)
{
        prepared = grammar_init(&grammar, tree_sitter_python(), kinds, ARRAY_LEN(kinds));
        if (prepared == 0)
                prepared = python_names_init();
}

int python_scan(const struct program_job *job)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        static const struct program_language language = {
                .grammar = &grammar,
                .enter = python_enter,
                .check = python_check,
                .evaluate = python_evaluate,
                .add_member = python_add_member,
                .is_builtin = python_is_builtin,
        };
        pthread_once(&once, python_prepare);
        return prepared < 0 ? prepared : program_scan(&language, job);
}
