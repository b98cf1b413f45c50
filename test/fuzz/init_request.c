/* test/fuzz/init_request.c -- init's readers of requests: the first byte says which. */
#include "fuzz.h"
#include "init/request.h"

static void walk(char **strings)
{
        for (; *strings; strings++)
                if (strlen(*strings) > INIT_REQUEST_MAX)
                        abort();
}

static void spawn(char *data, size_t len)
{
        static char *strings[REQUEST_STRINGS];
        struct request_spawn r;
        if (request_spawn(data, len, strings, &r) < 0)
                return;
        walk(r.argv);
        walk(r.env);
        walk(r.first_env);
        if (r.first_argv) {
                walk(r.first_argv);
                if (!r.first_argv[0] || strlen(r.first_cwd) > len)
                        abort();
        }
        if (r.check_argv) {
                walk(r.check_argv);
                if (!r.check_argv[0] || strlen(r.version) > len)
                        abort();
        }
        if (!r.argv[0] || r.n_strings > REQUEST_STRINGS || strlen(r.cwd) > len || r.argv[r.n_strings - 1])
                abort();
}

static void operate(const char *data, size_t len)
{
        struct request_operate r;
        if (request_operate(data, len, &r) < 0)
                return;
        if (!r.path[0] || strlen(r.path) >= INIT_PATH_MAX || strlen(r.path2) >= INIT_PATH_MAX)
                abort();
}

static void put_file(const char *data, size_t len)
{
        static volatile char sink;
        struct request_put_file r;
        if (request_put_file(data, len, &r) < 0)
                return;
        if (!r.name[0] || strchr(r.name, '/') || !strcmp(r.name, "..") ||
            (r.mode & ~(0777u | INIT_IN_WORKSPACE)))
                abort();
        for (size_t i = 0; i < r.content_len; i++)
                sink = r.content[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size == 0)
                return 0;
        char *copy = malloc(size); /* of the exact size, so that the sanitizer sees a read past its end */
        if (!copy)
                return 0;
        memcpy(copy, data + 1, size - 1);
        if (data[0] % 3 == 0)
                spawn(copy, size - 1);
        else if (data[0] % 3 == 1)
                operate(copy, size - 1);
        else
                put_file(copy, size - 1);
        free(copy);
        return 0;
}
