#include "engine/hint.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/runtime.h"
#include "image/store/store.h"

/* The name of the limit that a status is about; NULL: none. */
static const char *limit_of_status(const struct verdict_facts *facts, enum cella_status status)
{
        switch (status) {
        case CELLA_TIMEOUT:
                return "timeout_ms";
        case CELLA_MEMORY_LIMIT:
                return "memory_bytes";
        case CELLA_DISK_LIMIT:
                return facts->reported && facts->exited.disk_inodes_free == 0 ? "disk_inodes" : "disk_bytes";
        case CELLA_PROCESS_LIMIT:
                return "processes";
        case CELLA_CPU_LIMIT:
                return "cpu_time_ms";
        case CELLA_OUTPUT_LIMIT:
                return "output_bytes";
        default:
                return NULL;
        }
}

/* Writes a value with the largest unit in which it is a whole number. */
static void write_value(const struct limit *l, uint64_t value, char *ret, size_t size)
{
        static const char *const bytes[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
        size_t unit = 0;
        if (l->unit == LIMIT_BYTES) {
                for (; value >= 1024 && value % 1024 == 0 && unit < 4; unit++)
                        value /= 1024;
                snprintf(ret, size, "%llu %s", (unsigned long long)value, bytes[unit]);
        } else if (l->unit == LIMIT_TIME) {
                const bool whole = value >= 1000 && value % 1000 == 0;
                snprintf(ret, size, "%llu %s", (unsigned long long)(whole ? value / 1000 : value),
                         whole ? "s" : "ms");
        } else {
                snprintf(ret, size, "%llu", (unsigned long long)value);
        }
}

static void hint_of_limit(const char *name, const struct cella_limits *limits, struct cella_result *r)
{
        char value[40];
        for (size_t i = 0; i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                if (strcmp(l->name, name) != 0)
                        continue;
                write_value(l, limit_get(limits, l), value, sizeof value);
                snprintf(r->hint, sizeof r->hint, "%s: %s reached; limits.%s, --%s", l->option, value,
                         l->name, l->option);
        }
}

/* What allows a refused connection, by words in the reason; "": nothing does. */
static const char *hint_of_reason(const char *detail)
{
        static const struct {
                const char *words, *hint;
        } reasons[] = {
                {"no network", "; network.tier and network.allowed_domains, --network and --allow"},
                {"in blocked_domains", "; network.blocked_domains, --block"},
                {"allowed_domains", "; network.allowed_domains, --allow"},
                {", which is ", "; network.allowed_private, --allow-private"},
        };
        for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
                if (strstr(detail, reasons[i].words))
                        return reasons[i].hint;
        return "";
}

/* Code that copes with a refusal needs no hint. */
static void hint_of_refusal(struct cella_result *r)
{
        for (size_t i = 0; i < r->n_violations && r->exit_code != 0; i++) {
                const struct cella_violation *v = &r->violations[i];
                if (strcmp(v->kind, "network") != 0)
                        continue;
                snprintf(r->hint, sizeof r->hint, "network: %.60s refused, %.50s%s", v->target, v->detail,
                         hint_of_reason(v->detail));
                return;
        }
}

void hint_set(const struct verdict_facts *facts, const struct cella_limits *limits, struct cella_result *r)
{
        const char *name = limit_of_status(facts, r->status);
        r->hint[0] = '\0';
        if (name)
                hint_of_limit(name, limits, r);
        else
                hint_of_refusal(r);
}

/* ---- a missing module: the code decides what it prints, so only a name of this table is read ---- */

/* The modules of the recipe `data` (cli/image/recipe.c). */
static const char *const modules[] = {"requests", "pandas", "numpy", "matplotlib"};

/* Copies the last module that the text says is missing; only characters that names of modules have. */
static void find_missing(const char *text, size_t len, char *ret, size_t size)
{
        const bool python = memmem(text, len, "ModuleNotFoundError", 19) != NULL;
        const char *begin = python ? "No module named '" : "Error: Cannot find module '", *name = NULL;
        const char *end = text + len;
        for (const char *at = text; (at = memmem(at, (size_t)(end - at), begin, strlen(begin)));)
                name = at += strlen(begin);
        size_t n = 0;
        while (name && name + n < end && n < size - 1 &&
               (isalnum((unsigned char)name[n]) || strchr("_-./@", name[n])))
                n++;
        if (!name || name + n >= end || name[n] != '\'')
                return;
        memcpy(ret, name, n);
        ret[n] = '\0';
}

static const char *find_installable(const char *name)
{
        for (size_t i = 0; i < ARRAY_LEN(modules); i++)
                if (strcspn(name, ".") == strlen(modules[i]) &&
                    !strncmp(name, modules[i], strlen(modules[i])))
                        return modules[i];
        return NULL;
}

void hint_of_module(const char *error, size_t len, struct cella_result *r)
{
        const size_t skipped = len > HINT_ERROR_END ? len - HINT_ERROR_END : 0;
        r->missing_module[0] = '\0';
        if (!error || r->hint[0] || r->status != CELLA_EXITED || r->exit_code != 1)
                return;
        find_missing(error + skipped, len - skipped, r->missing_module, sizeof r->missing_module);
        const char *module = find_installable(r->missing_module);
        if (module)
                snprintf(r->hint, sizeof r->hint,
                         "%s is not installed: 'cella image bootstrap data' makes the image \"data\", which "
                         "has it (--image data); in a session with a network, 'pip install %s' installs it",
                         module, module);
}

/* ---- a missing runtime ---- */

/* Finds the newest image of the store that has the runtime.  Returns false if there is none. */
static bool find_image(const char *store, const char *name, char *ret, size_t size)
{
        struct image **images = NULL;
        struct cella_err ignored;
        size_t n = 0;
        bool found = false;
        if (image_list(store, &images, &n, &ignored) < 0)
                return false;
        for (size_t i = 0; i < n && !found; i++)
                if (images[i]->names[0] && image_runtime(images[i], name)) {
                        snprintf(ret, size, "%.100s", image_name_short(images[i]->names[0]));
                        found = true;
                }
        image_list_free(images, n);
        return found;
}

static void name_image(const struct runtime *runtime, char *ret, size_t size)
{
        bool versions = runtime->version && !(runtime->compile && runtime->compile->standard);
        const char *place = strstr(runtime->image, "%s");
        snprintf(ret, size, "%.*s%.20s%s", (int)(place - runtime->image), runtime->image,
                 versions ? runtime->version : runtime->usual, place + 2);
}

/* Versions for which `cella image bootstrap` has a recipe of this name (cli/image/recipe.c). */
static bool has_recipe(const char *runtime)
{
        static const char *const names[] = {"python3.10", "python3.11", "python3.12",
                                            "python3.13", "node18",     "node20"};
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                if (!strcmp(names[i], runtime))
                        return true;
        return false;
}

void hint_of_runtime(const char *store, const char *name, bool host, struct cella_err *err)
{
        struct runtime runtime;
        char image[128];
        if (runtime_find(name, &runtime) < 0)
                return;
        if (store && find_image(store, name, image, sizeof image)) {
                err_hint(err, "use image \"%s\", or set runtimes.%.20s.image to it", image, name);
                return;
        }
        if (!runtime.image) {
                err_hint(err,
                         host ? "apt-get install %s, or use an image that has it"
                              : "use an image that has %s",
                         runtime.package);
                return;
        }
        name_image(&runtime, image, sizeof image);
        if (has_recipe(name))
                err_hint(err,
                         "cella image pull %s, or cella image bootstrap %s --recipe %s; and use that image",
                         image, name, name);
        else if (!host || runtime.version)
                err_hint(err, "cella image pull %s, and use that image", image);
        else
                err_hint(err, "apt-get install %s; or cella image pull %s, and use that image",
                         runtime.package, image);
}
