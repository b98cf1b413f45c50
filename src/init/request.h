/* init/request.h -- parses requests. Has no side effects, so that it can be tested. */
#pragma once
#include <stddef.h>

#include "wire/init.h"
#include "wire/message.h"

/* Pointers in the results point into data (and, for a command, into strings): both must outlive them. */

struct request_spawn {
        uint32_t flags;
        uint16_t columns, rows;
        uint32_t n_strings; /* slots used of strings */
        char *cwd, **argv, **env;
        char *first_cwd, **first_argv,
                **first_env;         /* NULL: no program runs first. first_env is continued by env */
        char *version, **check_argv; /* NULL: the version need not be checked */
        int fds[MESSAGE_FDS_MAX];
        unsigned n_fds;
};

#define REQUEST_STRINGS                                                                                      \
        (INIT_STRINGS_MAX + 4) /* argv; first_env, env; first_argv; check_argv; each with NULL */

int request_spawn(char *data, size_t len, char *strings[REQUEST_STRINGS], struct request_spawn *ret);

struct request_operate {
        struct init_operate head;
        const char *path, *path2;
};

int request_operate(const char *data, size_t len, struct request_operate *ret);

struct request_put_file {
        uint32_t mode;
        char name[256];
        const char *content;
        size_t content_len;
};

int request_put_file(const char *data, size_t len, struct request_put_file *ret);
