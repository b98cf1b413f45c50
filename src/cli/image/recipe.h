/* cli/image/recipe.h -- recipes for `cella image bootstrap`: which release has a version of a language, and
 * which packages it needs. */
#pragma once
#include <stddef.h>

#define DEBIAN_MIRROR "http://deb.debian.org/debian"

struct recipe {
        const char *name;
        const char *suite, *mirror;
        const char *components; /* NULL: main */
        const char *packages;   /* with commas; "": none */
};

/* The recipe that is used if none is named. */
#define RECIPE_STANDARD "data"
/* All names, for the help; recipe.c has them in the same order. */
#define RECIPE_NAMES "data, python3.10, python3.11, python3.12, python3.13, node18, node20, go, rust, ruby"

/* Returns the recipe, or NULL. */
const struct recipe *recipe_find(const char *name);
