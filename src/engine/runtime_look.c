#include "engine/runtime_look.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/runtime.h"

/* The directories of the default PATH with programs for all users, in order. */
static const char *const places[] = {"/usr/local/bin", "/usr/bin", "/bin"};

/* Returns the runtime name of a program file; NULL: none. */
static const char *name_of(const char *file)
{
        for (size_t i = 0; i < runtimes_len; i++)
                if (!strcmp(runtimes[i].program, file) && strcmp(runtimes[i].name, "python") != 0)
                        return runtimes[i].name;
        return runtime_is_program(file) ? file : NULL;
}

static bool runtime_look_has(const struct runtime_found *list, size_t n, const char *name)
{
        for (size_t i = 0; i < n; i++)
                if (!strcmp(list[i].name, name))
                        return true;
        return false;
}

static size_t look_in(const char *place, struct runtime_found *list, size_t n)
{
        struct dirent *e;
        DIR *dir = opendir(place);
        while (dir && n < RUNTIMES_FOUND_MAX && (e = readdir(dir))) {
                const char *name = strlen(e->d_name) < sizeof list->name ? name_of(e->d_name) : NULL;
                if (!name || runtime_look_has(list, n, name) ||
                    faccessat(dirfd(dir), e->d_name, X_OK, AT_EACCESS) < 0)
                        continue;
                snprintf(list[n].name, sizeof list[n].name, "%s", name);
                snprintf(list[n].program, sizeof list[n].program, "%s/%s", place, e->d_name);
                n++;
        }
        if (dir)
                closedir(dir);
        return n;
}

static int runtime_look_compare(const void *a, const void *b)
{
        return strcmp(((const struct runtime_found *)a)->name, ((const struct runtime_found *)b)->name);
}

size_t runtime_look(struct runtime_found ret[RUNTIMES_FOUND_MAX])
{
        size_t n = 0;
        for (size_t i = 0; i < ARRAY_LEN(places); i++)
                n = look_in(places[i], ret, n);
        qsort(ret, n, sizeof *ret, runtime_look_compare);
        return n;
}

void runtime_version(const char *said, size_t len, char *ret, size_t size)
{
        size_t at = 0, n = 0;
        while (at < len && !(said[at] >= '0' && said[at] <= '9'))
                at++;
        while (at < len && n + 1 < size && ((said[at] >= '0' && said[at] <= '9') || said[at] == '.'))
                ret[n++] = said[at++];
        while (n > 0 && ret[n - 1] == '.')
                n--;
        ret[n] = '\0';
}
