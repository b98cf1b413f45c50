#include "image/unpack/programs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/runtime.h"
#include "image/unpack/tree.h"
#include "sys/file.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define DIRECTORIES_MAX 32
#define ENTRIES_MAX 100000 /* entries of a directory that are examined */
#define NAME_SIZE 32
#define PROGRAM_SIZE 256
#define HEADER_MAX ((size_t)64 << 10)

/* ---- the list ---- */

struct program_slot {
        char name[NAME_SIZE], program[PROGRAM_SIZE];
};

static const struct program_slot *programs_slot(const struct programs *p, const char *name)
{
        for (size_t i = 0; i < p->n; i++)
                if (strcmp(p->slots[i].name, name) == 0)
                        return &p->slots[i];
        return NULL;
}

static void programs_add(struct programs *p, const char *name, const char *program)
{
        struct program_slot *slot = &p->slots[p->n];
        if (p->n == IMAGE_RUNTIMES_MAX || programs_slot(p, name) || strlen(name) >= NAME_SIZE ||
            strlen(program) >= PROGRAM_SIZE)
                return;
        memcpy(slot->name, name, strlen(name) + 1);
        memcpy(slot->program, program, strlen(program) + 1);
        p->list[p->n++] = (struct image_pair){slot->name, slot->program};
}

void programs_done(struct programs *p)
{
        free(p->slots);
        *p = (struct programs){0};
}

/* ---- programs in PATH ---- */

/* Returns whether it is an executable file, following links inside the image. */
static bool is_program(int root, const char *path)
{
        struct stat st;
        AUTO(sys_close) int fd = tree_open_in(root, path, O_PATH);
        return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111) && st.st_size > 0;
}

/* The program in the earliest directory is used. */
static void programs_look_at(int root, const char *dir, const char *name, struct programs *p)
{
        char path[PROGRAM_SIZE];
        const bool versioned = runtime_is_program(name);
        int known = -1; /* whether it is executable: -1: not checked yet */
        for (size_t i = 0; i < runtimes_len && known != 0; i++) {
                const char *runtime = versioned ? name : NULL;
                if (strcmp(name, runtimes[i].program) == 0)
                        runtime = runtimes[i].name;
                if (!runtime || programs_slot(p, runtime))
                        continue;
                if (known < 0) {
                        int n = snprintf(path, sizeof path, "%s/%s", dir, name);
                        known = n > 0 && (size_t)n < sizeof path && is_program(root, path);
                }
                if (known)
                        programs_add(p, runtime, path);
        }
}

static void look_in(int root, const char *dir, struct programs *p)
{
        const struct dirent *entry;
        int fd = tree_open_in(root, dir, O_RDONLY | O_DIRECTORY);
        DIR *list = fd < 0 ? NULL : fdopendir(fd);
        if (!list) {
                sys_close(fd);
                return;
        }
        for (size_t i = 0; i < ENTRIES_MAX && (entry = readdir(list)); i++)
                programs_look_at(root, dir, entry->d_name, p);
        closedir(list);
}

static const char *programs_variable(const char *const *env, const char *name)
{
        size_t len = strlen(name);
        const char *value = NULL;
        for (; *env; env++)
                if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
                        value = *env + len + 1; /* the last one is used */
        return value;
}

static void look_through(int root, const char *path, struct programs *p)
{
        char dir[PROGRAM_SIZE];
        for (int i = 0; i < DIRECTORIES_MAX && *path; i++) {
                size_t len = strcspn(path, ":");
                if (path[0] == '/' && len > 0 && len < sizeof dir) {
                        memcpy(dir, path, len);
                        dir[len] = '\0';
                        while (len > 1 && dir[len - 1] == '/')
                                dir[--len] = '\0';
                        look_in(root, dir, p);
                }
                path += len + (path[len] == ':');
        }
}

/* ---- versions that are not in a name ---- */

/* Copies the first `parts` numbers of a version: "v22.1.0" is 22, or 22.1. */
static bool version_of(const char *text, int parts, char *ret, size_t size)
{
        size_t n = 0;
        if (strncmp(text, "jdk-", 4) == 0)
                text += 4;
        if (*text == 'v')
                text++;
        for (; *text && n + 1 < size; text++) {
                if (*text == '.' && (n == 0 || --parts == 0))
                        break;
                if (*text != '.' && (*text < '0' || *text > '9'))
                        break;
                ret[n++] = *text;
        }
        if (n > 0 && ret[n - 1] == '.')
                n--;
        ret[n] = '\0';
        return n > 0;
}

static void add_version(struct programs *p, const char *program, const char *prefix, const char *version)
{
        char name[NAME_SIZE];
        const struct program_slot *slot = programs_slot(p, program);
        int n = snprintf(name, sizeof name, "%s%s", prefix, version);
        if (slot && n > 0 && (size_t)n < sizeof name)
                programs_add(p, name, slot->program);
}

/* The official images have the version in a variable. */
static void add_versions(const char *const *env, struct programs *p)
{
        static const struct {
                const char *variable, *program, *prefix;
                int parts;
        } known[] = {
                {"NODE_VERSION", "node", "node", 1}, {"PYTHON_VERSION", "python3", "python", 2},
                {"RUBY_VERSION", "ruby", "ruby", 2}, {"PHP_VERSION", "php", "php", 2},
                {"GOLANG_VERSION", "go", "go", 2},   {"JAVA_VERSION", "java", "java", 1},
                {"RUST_VERSION", "rust", "rust", 2},
        };
        for (size_t i = 0; i < ARRAY_LEN(known); i++) {
                char version[NAME_SIZE];
                const char *text = programs_variable(env, known[i].variable);
                if (text && version_of(text, known[i].parts, version, sizeof version))
                        add_version(p, known[i].program, known[i].prefix, version);
        }
}

/* Node installs its headers, which contain the version. */
static void add_node(int root, struct programs *p)
{
        static const char *const headers[] = {"usr/local/include/node/node_version.h",
                                              "usr/include/node/node_version.h"};
        static const char define[] = "#define NODE_MAJOR_VERSION ";
        for (size_t i = 0; i < ARRAY_LEN(headers) && programs_slot(p, "node"); i++) {
                char *text = NULL, version[NAME_SIZE];
                size_t len;
                if (tree_read(root, headers[i], HEADER_MAX, &text, &len) < 0)
                        continue;
                const char *found = strstr(text, define);
                if (found && version_of(found + strlen(define), 1, version, sizeof version))
                        add_version(p, "node", "node", version);
                free(text);
        }
}

int programs_find(int root, const char *const *env, struct programs *ret, struct cella_err *err)
{
        const char *path = programs_variable(env, "PATH");
        struct programs p = {.slots = calloc(IMAGE_RUNTIMES_MAX, sizeof *p.slots)};
        if (!p.slots)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "an image's programs");
        look_through(root, path ? path : DEFAULT_PATH, &p);
        add_versions(env, &p);
        add_node(root, &p);
        *ret = p;
        return 0;
}
