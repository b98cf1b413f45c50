/* tools/seccomp_gen.c -- writes the seccomp filter of one architecture as C.
 *
 *     seccomp_gen ARCH OUT.c */
#include "seccomp_compile.h"

#include <stdio.h>
#include <stdlib.h>

static int write_filter(FILE *out, const char *arch, const struct sock_filter *filter, int len)
{
        fprintf(out,
                "/* The seccomp filter for %s: %d instructions.  Do not edit: tools/seccomp_gen\n"
                " * made it from src/jail/syscalls.def when Cella was built. */\n"
                "#include \"jail/seccomp_filter.h\"\n\n"
                "const struct sock_filter seccomp_filter[] = {\n",
                arch, len);
        for (int i = 0; i < len; i++)
                fprintf(out, "        {0x%02x, %u, %u, 0x%08x},\n", filter[i].code, filter[i].jt,
                        filter[i].jf, filter[i].k);
        fprintf(out, "};\n\n"
                     "const unsigned short seccomp_filter_len =\n"
                     "        sizeof(seccomp_filter) / sizeof(seccomp_filter[0]);\n");
        return ferror(out) ? -1 : 0;
}

int main(int argc, char **argv)
{
        static struct sock_filter filter[SECCOMP_PROGRAM_MAX];
        char why[200];
        FILE *out;
        int len, r;

        if (argc != 3) {
                fprintf(stderr, "usage: seccomp_gen x86_64|aarch64 OUT.c\n");
                return EXIT_FAILURE;
        }
        len = seccomp_compile(argv[1], filter, why, sizeof(why));
        if (len < 0) {
                fprintf(stderr, "seccomp_gen: %s\n", why);
                return EXIT_FAILURE;
        }
        out = fopen(argv[2], "we");
        if (out == NULL) {
                perror(argv[2]);
                return EXIT_FAILURE;
        }
        r = write_filter(out, argv[1], filter, len);
        if (fclose(out) != 0 || r < 0) {
                perror(argv[2]);
                remove(argv[2]); /* half a filter must not look like a finished one */
                return EXIT_FAILURE;
        }
        return EXIT_SUCCESS;
}
