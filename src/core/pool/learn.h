/* core/pool/learn.h -- counts what executions import, and chooses the modules of a learned template.
 *
 * There is one learner for each key, image and interpreter, so the imports of one key change nothing for
 * another.  Counts are halved every LEARN_HALF_US: imports that are no longer used fade.  The size of a
 * learner is fixed.  Names come from the code of the caller and are hostile: the server only compares them,
 * and sends them to the interpreter that becomes a template.
 *
 * This part only computes; learned.h makes the templates. */
#pragma once
#include "base/id.h"
#include "base/list.h"
#include "scan/finding.h"

#define LEARN_HALF_US (INT64_C(3600) * 1000000)
#define LEARN_FAILED_US                                                                                      \
        (INT64_C(6) * 3600 * 1000000)  /* before a module that cannot be preloaded is tried again */
#define LEARN_COUNT_MIN 5              /* executions that import a module before it is learned */
#define LEARN_SHARE_MIN 20             /* … and at least one execution of so many */
#define LEARN_NAMES_MAX 64             /* counted modules */
#define LEARN_PICK_MAX LEARN_NAMES_MAX /* modules in one template */

struct learn_name {
        char name[SCAN_IMPORT_MAX + 1];
        bool used;               /* it is in the template */
        uint32_t count;          /* executions that imported it, halved with time */
        uint64_t import_us;      /* how long the import took when the template was made; 0: not measured */
        int64_t failed_until_us; /* it cannot be preloaded until then */
};

struct learner {
        struct list link;  /* in the core, the most recently used last */
        char key[ID_SIZE]; /* "": the owner of the daemon */
        char image[256], program[64];
        int64_t born_us;
        uint32_t executions;   /* halved with time */
        int64_t halve_us;      /* when the counts are halved next */
        int64_t not_before_us; /* no template is made before */
        int64_t check_us;      /* when its memory is measured next */
        int64_t wanted_us;     /* since when another template is wanted; 0: none is wanted */
        unsigned made;         /* templates, halved with time */
        unsigned most;         /* modules in a template; lowered if it became too large */
        struct pool *pool;     /* with the template; NULL: none */
        struct pool *next;     /* its template is being made; NULL: none */
        unsigned n_names;
        struct learn_name names[LEARN_NAMES_MAX];
};

struct learner *learner_new(const char *key, const char *image, const char *program, int64_t now_us);

/* Counts an execution that imported these modules (struct scan_report), except those in `known`: the modules
 * that every template has, with spaces around. */
void learner_count(struct learner *learner, const char *imports, const char *known, int64_t now_us);
/* Halves the counts if it is time. */
void learner_fade(struct learner *learner, int64_t now_us);
/* Writes the modules that a template should have to ret, the most useful first, and returns their number.  A
 * module stays in until it is hardly used. */
unsigned learner_pick(struct learner *learner, int64_t now_us, struct learn_name *ret[LEARN_PICK_MAX]);
/* Returns how much time these modules save, on average over all executions, in microseconds. */
uint64_t learner_benefit_us(const struct learner *learner);

/* Whether a template has the module.  modules: " json numpy:81234 ", see struct waiting_how. */
bool learn_has_module(const char *modules, const char *name);
/* Returns the text after the colon if the module is hidden in the template; NULL: it is not. */
const char *learn_hidden(const char *modules, const char *name);
