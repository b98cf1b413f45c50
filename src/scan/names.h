/* scan/names.h -- tables of what is known by its full name: modules, functions, commands. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "scan/rules.h"

/* What its use says, and how that depends on the arguments.  Languages know some of these each. */
enum check {
        CHECK_NOTHING,
        CHECK_USE,      /* a call or any other mention: rule */
        CHECK_CALL,     /* a call: rule */
        CHECK_IMPORT,   /* imports what its first argument says */
        CHECK_EVALUATE, /* runs its first argument */
        CHECK_OPEN,     /* opens the first argument as the second says */
        CHECK_READ,     /* reads the file of the first argument */
        CHECK_WRITE,    /* writes files: those of the arguments in the mask */
        CHECK_SAVE,     /* writes the file of the first argument, if there is one */
        CHECK_SHELL,    /* runs a shell command */
        CHECK_COMMAND,  /* runs a command given as a list, or the shell if it is a text */
        CHECK_CHDIR,
        CHECK_MEMBER, /* takes the member that the second argument says out of the first */
        CHECK_URL,    /* uses the network if its first argument is a URL */
        CHECK_TIMER,  /* runs its first argument if it is a text */
};

/* What its result is. */
enum result {
        RESULT_UNKNOWN,
        RESULT_MODULE,     /* the module that the argument says */
        RESULT_TOP_MODULE, /* the first part of that name */
        RESULT_MEMBER,
        RESULT_SAME, /* its first argument */
        RESULT_CHARACTERS,
        RESULT_BASE64,
        RESULT_HEX,
        RESULT_CODEC, /* the second argument says how */
        RESULT_DECODED,
        RESULT_REVERSED,
        RESULT_JOINED_PATH,
        RESULT_PATH,
        RESULT_TEMPORARY,
        RESULT_HERE,
        RESULT_HOME,
        RESULT_NUMBER,
        RESULT_MEMBERS, /* something to take members out of by their names */
        RESULT_GLOBALS,
        RESULT_GETTER,  /* a function that takes a member out of its argument */
        RESULT_REQUIRE, /* a function that imports */
};

struct known {
        const char *name; /* one that ends in '.' stands for all that begin with it */
        enum check check;
        enum rule rule;
        unsigned files; /* of CHECK_WRITE: bit 0 is the first argument */
        enum result result;
};

struct names {
        const struct known *known;
        size_t n;
        unsigned short *index; /* a hash table, made by names_init() */
        size_t index_size;
};

int names_init(struct names *names);
/* The entry of the name, or of the longest beginning that has one; NULL. */
const struct known *names_find(const struct names *names, const char *name, size_t len);
/* The entry of exactly this name. */
const struct known *names_find_exact(const struct names *names, const char *name, size_t len);

/* The entry of a module, or of the nearest package that contains it; NULL. */
const struct known *names_find_module(const struct names *names, const char *name, size_t len);

bool names_list_has(const char *const *list, size_t n, const char *name, size_t len);

/* Whether a list of modules has the module, or one that it is below of.  separators are the characters
 * between the parts of a name. */
bool names_cover(const char *const *list, size_t n, const char *module, size_t len, const char *separators);
