#include "cli/admin/server_program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "config.h"

void program_directory(char ret[PROGRAM_DIRECTORY_SIZE])
{
        ssize_t n = readlink("/proc/self/exe", ret, PROGRAM_DIRECTORY_SIZE - 1);
        ret[n > 0 ? n : 0] = '\0';
        char *slash = strrchr(ret, '/');
        if (slash)
                *slash = '\0';
}

/* Beside the program when it was built, in libexec once it is installed. */
int program_find(const char *name, char ret[SERVER_PROGRAM_SIZE], struct cella_err *err)
{
        static const char *const places[] = {"", "../libexec/cella/"};
        char self[PROGRAM_DIRECTORY_SIZE];
        program_directory(self);
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
