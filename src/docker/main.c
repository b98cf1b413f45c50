/* docker/main.c -- cella-docker: the engine whose sandboxes are containers of Docker or Podman.
 *
 * Access to an engine's socket is nearly equivalent to root on this machine.  So this process has it, and not
 * the server: it accepts only packets of fixed formats and makes containers of one kind.  It is started with
 * no capabilities (keeper/spawn/child.h) except those for a container's network, which are not effective
 * until needed (network.h).  It ends when its socket is closed, and then removes its containers. */
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
                {"--state", &setup.state},
                {"--workspace-root", &setup.pin},
                {"--workspace", &setup.only},
                {"--for", &setup.client},
        };
        for (int i = 1; i < argc; i += 2) {
                size_t at = 0;
                while (at < ARRAY_LEN(options) && strcmp(options[at].name, argv[i]) != 0)
                        at++;
                if (at == ARRAY_LEN(options) || i + 1 == argc)
                        return usage_error(argv[i]);
                *options[at].value = argv[i + 1];
        }
        if (!setup.home || !setup.client != !setup.state || fcntl(DOCKER_CONTROL_FD, F_SETFD, FD_CLOEXEC) < 0)
                return usage_error("--home");
        prctl(PR_SET_PDEATHSIG, 0);
        prctl(PR_SET_DUMPABLE, 0);
        foreign_json_init(NULL);
        if (network_keep_rights() < 0)
                return 1;
        return process_run(&setup);
}
