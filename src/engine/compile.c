#include "engine/compile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "init/files/temporary.h"

static int too_long(struct cella_err *err)
{
        return err_say(err, CELLA_TOO_LARGE, -ENAMETOOLONG, "the name of the code's file is too long");
}

/* Formats into c->text.  Returns NULL if it is full. */
__attribute__((format(printf, 2, 3))) static const char *text(struct compile *c, const char *format, ...)
{
        char *at = c->text + c->used;
        size_t room = sizeof c->text - c->used;
        va_list args;
        va_start(args, format);
        int n = vsnprintf(at, room, format, args);
        va_end(args);
        if (n < 0 || (size_t)n >= room)
                return NULL;
        c->used += (size_t)n + 1;
        return at;
}

/* Replaces the placeholder in one word of the table. */
static const char *expand(struct compile *c, const char *word, const char *cwd, const char *scratch)
{
        const char *at = strchr(word, '%');
        if (!at)
                return word;
        if (!strcmp(word, "%d"))
                return cwd; /* not copied: it may be long */
        return text(c, "%.*s%s%s", (int)(at - word), word, at[1] == 'd' ? cwd : scratch, at + 2);
}

static bool ends_in(const char *name, const char *extension)
{
        size_t len = strlen(name), end = strlen(extension) + 1;
        return len > end && name[len - end] == '.' && !strcmp(name + len - end + 1, extension);
}

int compile_name(const struct runtime *runtime, char *name, size_t size, struct cella_err *err)
{
        size_t len = strlen(name);
        if (!runtime->compile->by_extension || ends_in(name, runtime->extension))
                return 0;
        int n = snprintf(name + len, size - len, ".%s", runtime->extension);
        return n < 0 || (size_t)n >= size - len ? too_long(err) : 0;
}

/* Returns the path of the program, which must differ from the code's. */
static const char *place_out(struct compile *c, const struct runtime *runtime, const char *name,
                             const char *own)
{
        size_t stem = strlen(name) - strlen(runtime->extension) - 1;
        return ends_in(name, runtime->extension) ? text(c, "%s/%.*s", own, (int)stem, name)
                                                 : text(c, "%s/%s.out", own, name);
}

/* A relative name must not look like an option or an option file. */
static const char *place_source(struct compile *c, const struct runtime_compile *how, const char *dir,
                                const char *name)
{
        if (how->in_place)
                return text(c, "%s/%s", dir, name);
        return text(c, "%s%s", name[0] == '-' || name[0] == '@' ? "./" : "", name);
}

int compile_plan(struct compile *c, const struct runtime *runtime, const char *dir, const char *name,
                 const char *cwd, const char *own, struct cella_err *err)
{
        const struct runtime_compile *how = runtime->compile;
        /* On the host /tmp is shared, and only the workspace is private. */
        const char *scratch = !strcmp(own, "/workspace") ? "/workspace/" TEMPORARY_PREFIX "compile" : "/tmp";
        const char **word = c->words, **env = c->env;
        *c = (struct compile){.cwd = how->in_place ? cwd : dir};
        *word++ = runtime->program;
        for (size_t i = 0; how->before[i]; i++)
                *word++ = expand(c, how->before[i], cwd, scratch);
        if (how->standard && runtime->version)
                *word++ = text(c, "%s%s", how->standard, runtime->version);
        *word++ = "-o";
        *word++ = c->out = place_out(c, runtime, name, own);
        *word++ = place_source(c, how, dir, name);
        for (size_t i = 0; how->after[i]; i++)
                *word++ = how->after[i];
        for (size_t i = 0; how->env[i]; i++)
                *env++ = expand(c, how->env[i], cwd, scratch);
        for (const char **w = c->words; w < word; w++)
                if (!*w)
                        return too_long(err);
        for (const char **e = c->env; e < env; e++)
                if (!*e)
                        return too_long(err);
        return 0;
}
