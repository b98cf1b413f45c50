/* docker/main.c -- cella-docker: the engine whose sandboxes are containers of Docker or Podman.
 *
 * Who may use an engine's socket is root on this machine, or next to it; so that is given to this process,
 * which takes fixed-size packets and makes containers of one kind, and not to the server.  It is started with
 * no capability (keeper/spawn/child.h) but those for a container's way out, and these are not in use
 * (network.h). It ends when the other end of its socket is closed, and then removes the containers that
 * it made. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/auto.h"
#include "base/foreign_json.h"
#include "docker/network.h"
#include "docker/process.h"

static int usage_error(const char *word)
{
        fprintf(stderr, "cella-docker: it is started by cella, not by hand ('%.60s')\n", word);
        return 2;
}

int main(int argc, char **argv)
{
        struct setup setup = {0};
        const struct {
                const char *name;
                const char **value;
        } options[] = {
                {"--home", &setup.home},
                {"--host", &setup.host},
                {"--runtime-dir", &setup.runtime_dir},
                {"--transport", &setup.transport},
                {"--for", &setup.whose},
        };
        for (int i = 1; i < argc; i += 2) {
                size_t at = 0;
                while (at < ARRAY_LEN(options) && strcmp(options[at].name, argv[i]) != 0)
                        at++;
                if (at == ARRAY_LEN(options) || i + 1 == argc)
                        return usage_error(argv[i]);
                *options[at].value = argv[i + 1];
        }
        if (!setup.home || fcntl(DOCKER_CONTROL_FD, F_SETFD, FD_CLOEXEC) < 0)
                return usage_error("--home");
        prctl(PR_SET_PDEATHSIG, 0);
        prctl(PR_SET_DUMPABLE, 0);
        foreign_json_init();
        if (network_keep_rights() < 0)
                return 1;
        return process_run(&setup);
}
