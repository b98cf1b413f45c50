#include "cli/run/words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/runtime.h"
#include "cli/run/guess.h"
#include "sys/file.h"

#define CODE_MAX (4u * 1024 * 1024)

static int read_code(const char *path, char **ret, size_t *ret_len, struct cella_err *err)
{
        bool standard = !strcmp(path, "-");
        AUTO(sys_close) int fd = standard ? -1 : sys_openat(AT_FDCWD, path, O_RDONLY, 0);
        if (!standard && fd < 0)
                return err_set(err, CELLA_INVALID_REQUEST, fd, "cannot read '%.120s'", path);
        char *code = malloc(CODE_MAX + 1);
        if (!code)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "code");
        size_t len = 0;
        for (;;) {
                ssize_t n = sys_read(standard ? STDIN_FILENO : fd, code + len, CODE_MAX + 1 - len);
                if (n < 0) {
                        free(code);
                        return err_set(err, CELLA_INVALID_REQUEST, (int)n, "cannot read '%.120s'", path);
                }
                if (n == 0)
                        break;
                len += (size_t)n;
                if (len > CODE_MAX) {
                        free(code);
                        return err_say(err, CELLA_TOO_LARGE, -EFBIG, "'%.120s' has more than 4 MiB", path);
                }
        }
        *ret = code;
        *ret_len = len;
        return 0;
}

static int need_words(const char *command, struct cella_err *err)
{
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                "nothing to run: RUNTIME -c CODE, RUNTIME FILE, or -- COMMAND");
        return err_hint(err, "cella %s --help", command);
}

static int leads_out(const char *file, struct cella_err *err)
{
        err_say(err, CELLA_INVALID_REQUEST, -EXDEV,
                "'%.100s' is in the workspace, but leads out of it or is not a regular file: not read", file);
        return err_hint(err,
                        "code that could write to the workspace may have made it; name its target instead");
}

/* If the word is not the name of a runtime, it may be a file: its runtime is guessed from the name or the
 * first line. */
static int words_guess(struct words *words, const char *word, bool alone, struct cella_err *err)
{
        struct runtime runtime;
        if (runtime_find(word, &runtime) == 0 || !strcmp(word, "-"))
                return 0;
        int r = guess_runtime(word, words->workspace, words->runtime, sizeof words->runtime);
        if (r == 0)
                return 1;
        if (r == -EXDEV)
                return leads_out(word, err);
        if (r == -ENOEXEC && alone) {
                err_say(err, CELLA_INVALID_REQUEST, r, "the runtime of '%.100s' is unknown", word);
                return err_hint(err, "put it before the file: cella %s python3 FILE", words->command);
        }
        return 0;
}

static int unknown_word(const struct words *words, const char *word, struct cella_err *err)
{
        struct runtime runtime;
        if (runtime_find(word, &runtime) == 0)
                return need_words(words->command, err);
        if (strpbrk(word, "./"))
                return err_say(err, CELLA_INVALID_REQUEST, -ENOENT, "there is no file '%.100s'", word);
        const char *near = parse_nearest(word, &runtimes[0].name, runtimes_len, sizeof runtimes[0]);
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "'%.60s' is neither a runtime nor a file", word);
        return near ? err_hint(err, "did you mean %s? A command: cella %s -- %.60s", near, words->command,
                               word)
                    : err_hint(err, "a command: cella %s -- %.60s", words->command, word);
}

static int take_file(struct cella_command *c, struct words *words, const char *file, struct cella_err *err)
{
        int r = strcmp(file, "-") != 0
                        ? guess_inside(file, words->workspace, words->inside, sizeof words->inside)
                        : -ENOENT;
        if (r == -EXDEV)
                return leads_out(file, err);
        if (r == 0) {
                c->code_file = words->inside;
                return 0;
        }
        r = read_code(file, &words->code, &c->code_len, err);
        if (r < 0)
                return r;
        const char *slash = strrchr(file, '/');
        c->code = words->code;
        c->file_name = !strcmp(file, "-") ? "stdin" : slash ? slash + 1 : file;
        /* Standard input contained the code. */
        if (!strcmp(file, "-"))
                c->stdin_fd = -1;
        else
                words->file = file;
        return 0;
}

int words_take(struct cella_command *c, struct words *words, int argc, char **argv, struct cella_err *err)
{
        struct runtime runtime;
        if (argc > 0 && !strcmp(argv[0], "--")) {
                c->argv = (const char *const *)argv + 1;
                return argc > 1 ? 0 : need_words(words->command, err);
        }
        if (argc == 0)
                return need_words(words->command, err);
        int r = words_guess(words, argv[0], argc == 1, err);
        if (r < 0)
                return r;
        if (r > 0) {
                c->runtime = words->runtime;
                c->argv = (const char *const *)argv + 1;
                return take_file(c, words, argv[0], err);
        }
        if (argc == 1 && words->may_be_alone && runtime_find(argv[0], &runtime) == 0 && runtime.repl) {
                c->runtime = argv[0];
                return 0;
        }
        if (argc < 2)
                return unknown_word(words, argv[0], err);
        c->runtime = argv[0];
        if (!strcmp(argv[1], "-c")) {
                if (argc < 3)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "-c needs code after it");
                c->code = argv[2];
                c->code_len = strlen(argv[2]);
                c->argv = (const char *const *)argv + 3;
                return 0;
        }
        if (argv[1][0] == '-' && argv[1][1])
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "after %s: -c CODE or a file, not '%.40s'", argv[0], argv[1]);
        c->argv = (const char *const *)argv + 2;
        return take_file(c, words, argv[1], err);
}
