/* scan/names.h -- tables of known full names: modules, functions, commands. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "scan/rules.h"

/* What the use of a name means, and how that depends on the arguments. Each language uses some of these. */
enum check {
        CHECK_NOTHING,
        CHECK_USE,      /* a call or any other use: rule */
        CHECK_CALL,     /* a call: rule */
        CHECK_IMPORT,   /* imports the module named by its first argument */
        CHECK_EVALUATE, /* runs its first argument */
        CHECK_OPEN,     /* opens the first argument with the mode in the second */
        CHECK_READ,     /* reads the file of the first argument */
        CHECK_WRITE,    /* writes files: those of the arguments in the mask.  Rule RULE_FILE_TREE_OUTSIDE: and
                           everything below them */
        CHECK_SAVE,     /* writes the file of the first argument, if there is one */
        CHECK_SHELL,    /* runs a shell command */
        CHECK_COMMAND,  /* runs a command given as a list, or the shell if it is a string */
        CHECK_CHDIR,
        CHECK_MEMBER, /* gets the member of the first argument that the second names */
        CHECK_URL,    /* uses the network if its first argument is a URL */
        CHECK_TIMER,  /* runs its first argument if it is a string */
};

/* The result of a call. */
enum result {
        RESULT_UNKNOWN,
        RESULT_MODULE,     /* the module that the argument names */
        RESULT_TOP_MODULE, /* the first part of that name */
        RESULT_MEMBER,
        RESULT_SAME, /* its first argument */
        RESULT_CHARACTERS,
        RESULT_BASE64,
        RESULT_HEX,
        RESULT_CODEC, /* the second argument names the codec */
        RESULT_DECODED,
        RESULT_REVERSED,
        RESULT_JOINED_PATH,
        RESULT_PATH,
        RESULT_TEMPORARY,
        RESULT_HERE,
        RESULT_HOME,
        RESULT_NUMBER,
        RESULT_MEMBERS, /* an object whose members are looked up by name */
        RESULT_GLOBALS,
        RESULT_GETTER,  /* a function that gets a member of its argument */
        RESULT_REQUIRE, /* a function that imports */
};

struct known {
        const char *name; /* a name that ends in '.' matches all names that begin with it */
        enum check check;
        enum rule rule;
        unsigned files; /* of CHECK_WRITE: bit 0 is the first argument */
        enum result result;
};

/* Rows of the tables: modules; then functions. */
#define NETWORK(name)                                                                                        \
        {                                                                                                    \
                name, CHECK_USE, RULE_IMPORT_NETWORK                                                         \
        }
#define PROCESS(name)                                                                                        \
        {                                                                                                    \
                name, CHECK_USE, RULE_IMPORT_PROCESS                                                         \
        }
#define NATIVE(name)                                                                                         \
        {                                                                                                    \
                name, CHECK_USE, RULE_IMPORT_NATIVE                                                          \
        }
#define NET(name)                                                                                            \
        {                                                                                                    \
                name, CHECK_CALL, RULE_NETWORK_CALL                                                          \
        }
#define PROC(name)                                                                                           \
        {                                                                                                    \
                name, CHECK_USE, RULE_PROCESS_CALL                                                           \
        }
#define WRITE(name, files)                                                                                   \
        {                                                                                                    \
                name, CHECK_WRITE, RULE_FILE_WRITE, files                                                    \
        }
#define GIVES(name, what)                                                                                    \
        {                                                                                                    \
                name, CHECK_NOTHING, 0, 0, RESULT_##what                                                     \
        }

struct names {
        const struct known *known;
        size_t n;
        unsigned short *index; /* a hash table, made by names_init() */
        size_t index_size;
};

int names_init(struct names *names);
/* Returns the entry of the name, or of its longest prefix that has one; NULL. */
const struct known *names_find(const struct names *names, const char *name, size_t len);
/* Returns the entry of exactly this name; NULL. */
const struct known *names_find_exact(const struct names *names, const char *name, size_t len);

/* The entry of a module, or of the nearest package that contains it; NULL. */
const struct known *names_find_module(const struct names *names, const char *name, size_t len);

bool names_list_has(const char *const *list, size_t n, const char *name, size_t len);

/* Whether a list of modules contains the module or one of its parents. separators are the characters
 * between the parts of a name. */
bool names_cover(const char *const *list, size_t n, const char *module, size_t len, const char *separators);
