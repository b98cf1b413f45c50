#include "keeper/spawn/imager_process.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "sys/file.h"
#include "wire/imager.h"

_Static_assert(IMAGER_FD == CHILD_FIRST_FD && IMAGER_STORE_FD == CHILD_FIRST_FD + 1,
               "the descriptor numbers must match");

/* The names that libcurl uses.  It ignores HTTP_PROXY in capitals, which a web server can set from a
 * header. */
static const char *const proxies[] = {
        "http_proxy=", "https_proxy=", "HTTPS_PROXY=", "all_proxy=", "ALL_PROXY=", "no_proxy=", "NO_PROXY="};

static void choose_environment(char *ret[ARRAY_LEN(proxies) + 3])
{
        static char *const standard[] = {CHILD_ENV};
        size_t n = 0;
        for (; n < ARRAY_LEN(standard); n++)
                ret[n] = standard[n];
        for (size_t i = 0; i < ARRAY_LEN(proxies); i++)
                for (char **at = environ; at && *at; at++)
                        if (!strncmp(*at, proxies[i], strlen(proxies[i]))) {
                                ret[n++] = *at;
                                break;
                        }
        ret[n] = NULL;
}

int imager_process_start(const struct imager_setup *s, struct child *ret, int *ret_socket,
                         struct cella_err *err)
{
        static char *const argv[] = {"cella-image", NULL};
        char *env[ARRAY_LEN(proxies) + 3];
        AUTO(sys_close) int program = sys_openat(AT_FDCWD, s->program, O_PATH, 0);
        if (program < 0)
                return err_set(err, CELLA_NOT_FOUND, program, "cannot start %.150s", s->program);
        choose_environment(env);
        const struct child_setup setup = {
                .program = program,
                .path = s->program,
                .argv = argv,
                .env = env,
                .fds = &s->store,
                .n_fds = 1,
                .change_user = s->change_user,
                .uid = s->uid,
                .gid = s->gid,
        };
        return child_start_linked(&setup, SOCK_STREAM, ret, ret_socket, err);
}
