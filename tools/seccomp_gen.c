/* tools/seccomp_gen.c -- writes the seccomp filter of one architecture as C.
 *
 *     seccomp_gen ARCH OUT.c */
#include "seccomp_compile.h"

#include <stdio.h>
#include <stdlib.h>

static void write_array(FILE *out, const char *name, const struct sock_filter *filter, int len)
{
        fprintf(out, "const struct sock_filter %s[] = {\n", name);
        for (int i = 0; i < len; i++)
                fprintf(out, "        {0x%02x, %u, %u, 0x%08x},\n", filter[i].code, filter[i].jt,
                        filter[i].jf, filter[i].k);
        fprintf(out, "};\nconst unsigned short %s_len = %d;\n\n", name, len);
}

static int compare_reported(const void *a, const void *b)
{
        const struct seccomp_reported *x = a, *y = b;

        return (int)x->number - (int)y->number;
}

static void write_reported(FILE *out, const char *arch)
{
        static struct seccomp_reported reported[SECCOMP_PROGRAM_MAX];
        size_t len = 0;

        for (size_t i = 0; i < seccomp_table_len; i++) {
                int number = seccomp_number(arch, seccomp_table[i].name);

                if (number < 0 || !seccomp_is_reported(i))
                        continue;
                reported[len].number = (uint16_t)number;
                snprintf(reported[len++].name, sizeof(reported->name), "%s", seccomp_table[i].name);
        }
        qsort(reported, len, sizeof(reported[0]), compare_reported);
        fprintf(out, "const struct seccomp_reported seccomp_reported[] = {\n");
        for (size_t i = 0; i < len; i++)
                fprintf(out, "        {%u, \"%s\"},\n", reported[i].number, reported[i].name);
        fprintf(out, "};\nconst unsigned short seccomp_reported_len = %zu;\n", len);
}

int main(int argc, char **argv)
{
        static struct sock_filter filter[SECCOMP_PROGRAM_MAX];
        char why[200];
        FILE *out;
        int len;

        if (argc != 3) {
                fprintf(stderr, "usage: seccomp_gen x86_64|aarch64 OUT.c\n");
                return EXIT_FAILURE;
        }
        len = seccomp_compile(argv[1], filter, why, sizeof(why));
        if (len > SECCOMP_FILTER_MAX) {
                fprintf(stderr, "seccomp_gen: %d instructions: more than jail/seccomp.c has room for\n", len);
                return EXIT_FAILURE;
        }
        if (len < 0) {
                fprintf(stderr, "seccomp_gen: %s\n", why);
                return EXIT_FAILURE;
        }
        out = fopen(argv[2], "we");
        if (out == NULL) {
                perror(argv[2]);
                return EXIT_FAILURE;
        }
        fprintf(out,
                "/* The seccomp filter for %s.  Do not edit: tools/seccomp_gen made it from\n"
                " * src/jail/syscalls.def when Cella was built. */\n"
                "#include \"jail/seccomp_filter.h\"\n\n",
                argv[1]);
        write_array(out, "seccomp_filter", filter, len);
        write_reported(out, argv[1]);
        int bad = ferror(out);
        if (fclose(out) != 0 || bad) {
                perror(argv[2]);
                remove(argv[2]); /* half a filter must not look like a finished one */
                return EXIT_FAILURE;
        }
        return EXIT_SUCCESS;
}
