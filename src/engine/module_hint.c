/* The code decides what it prints, so only the name of the module is read, and it must be one of the table.
 */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "engine/hint.h"

/* The modules of the recipe `data` (cli/image/recipe.c). */
static const char *const modules[] = {"requests", "pandas", "numpy", "matplotlib"};

/* Returns the last module that the text says is missing, if it is in the table. */
static const char *find_missing(const char *text, size_t len)
{
        static const char error[] = "ModuleNotFoundError", missing[] = "No module named '";
        const char *name = NULL, *end = text + len;
        if (!memmem(text, len, error, sizeof error - 1))
                return NULL;
        for (const char *at = text; (at = memmem(at, (size_t)(end - at), missing, sizeof missing - 1));)
                name = at += sizeof missing - 1;
        for (size_t i = 0; name && i < ARRAY_LEN(modules); i++) {
                const size_t n = strlen(modules[i]);
                if ((size_t)(end - name) > n && !memcmp(name, modules[i], n) &&
                    (name[n] == '\'' || name[n] == '.'))
                        return modules[i];
        }
        return NULL;
}

void hint_of_module(const char *error, size_t len, struct cella_result *r)
{
        const char *module = NULL;
        const size_t skipped = len > HINT_ERROR_END ? len - HINT_ERROR_END : 0;
        if (error && !r->hint[0] && r->status == CELLA_EXITED && r->exit_code == 1)
                module = find_missing(error + skipped, len - skipped);
        if (module)
                snprintf(r->hint, sizeof r->hint,
                         "%s is not installed: 'cella image bootstrap data' makes the image \"data\", which "
                         "has it (--image data); in a session with a network, 'pip install %s' installs it",
                         module, module);
}
