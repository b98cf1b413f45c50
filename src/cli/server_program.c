#include "cli/server_program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "config.h"

/* Beside the program when it was built, in libexec once it is installed. */
int program_find(const char *name, char ret[SERVER_PROGRAM_SIZE], struct cella_err *err)
{
        static const char *const places[] = {"", "../libexec/cella/"};
        char self[512];
        ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
        self[n > 0 ? n : 0] = '\0';
        char *slash = strrchr(self, '/');
        if (slash)
                *slash = '\0';
        for (size_t i = 0; i <= ARRAY_LEN(places); i++) {
                if (i < ARRAY_LEN(places))
                        snprintf(ret, SERVER_PROGRAM_SIZE, "%s/%s%s", self, places[i], name);
                else
                        snprintf(ret, SERVER_PROGRAM_SIZE, "%s/cella/%s", CELLA_LIBEXECDIR, name);
                if (access(ret, X_OK) == 0)
                        return 0;
        }
        err_say(err, CELLA_NOT_FOUND, -ENOENT, "%s is not installed", name);
        return err_hint(err, "./dev install puts it in place");
}

int server_program_find(char ret[SERVER_PROGRAM_SIZE], struct cella_err *err)
{
        return program_find("cella-server", ret, err);
}
