#include "cli/run/words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/runtime.h"
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

int words_take(struct cella_command *c, char **ret_code, const char *command, bool may_be_alone, int argc,
               char **argv, struct cella_err *err)
{
        struct runtime runtime;
        if (argc > 0 && !strcmp(argv[0], "--")) {
                c->argv = (const char *const *)argv + 1;
                return argc > 1 ? 0 : need_words(command, err);
        }
        if (argc == 1 && may_be_alone && runtime_find(argv[0], &runtime) == 0 && runtime.repl) {
                c->runtime = argv[0];
                return 0;
        }
        if (argc < 2)
                return need_words(command, err);
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
        int r = read_code(argv[1], ret_code, &c->code_len, err);
        if (r < 0)
                return r;
        const char *slash = strrchr(argv[1], '/');
        c->code = *ret_code;
        c->file_name = !strcmp(argv[1], "-") ? "stdin" : slash ? slash + 1 : argv[1];
        c->argv = (const char *const *)argv + 2;
        /* Standard input contained the code. */
        if (!strcmp(argv[1], "-"))
                c->stdin_fd = -1;
        return 0;
}
