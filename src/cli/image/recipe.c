#include "cli/image/recipe.h"

#include <string.h>

#include "base/auto.h"

/* Ubuntu has the versions of Python between those of Debian's releases. */
#ifdef __x86_64__
#define UBUNTU "http://archive.ubuntu.com/ubuntu", "main,universe"
#else
#define UBUNTU "http://ports.ubuntu.com/ubuntu-ports", "main,universe"
#endif
#define DEBIAN DEBIAN_MIRROR, NULL

#define APT "apt" /* part of a minimal Debian, but not of a minimal Ubuntu */
#define PYTHON "ca-certificates,python3,python3-pip"
#define NODE "ca-certificates,nodejs,npm"

static const struct recipe recipes[] = {
        {"data", "bookworm", DEBIAN,
         "ca-certificates,curl,python3,python3-matplotlib,python3-numpy,python3-pandas,python3-pip,"
         "python3-requests"},
        {"python3.10", "jammy", UBUNTU, APT "," PYTHON},
        {"python3.11", "bookworm", DEBIAN, PYTHON},
        {"python3.12", "noble", UBUNTU, APT "," PYTHON},
        {"python3.13", "trixie", DEBIAN, PYTHON},
        {"node18", "bookworm", DEBIAN, NODE},
        {"node20", "trixie", DEBIAN, NODE},
        {"go", "trixie", DEBIAN, "ca-certificates,golang-go"},
        {"rust", "trixie", DEBIAN, "ca-certificates,cargo,rustc"},
        {"ruby", "trixie", DEBIAN, "ca-certificates,ruby"},
};

const struct recipe *recipe_find(const char *name)
{
        for (size_t i = 0; i < ARRAY_LEN(recipes); i++)
                if (!strcmp(recipes[i].name, name))
                        return &recipes[i];
        return NULL;
}
