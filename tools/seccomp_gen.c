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

int main(int argc, char **argv)
{
        static struct sock_filter filter[SECCOMP_PROGRAM_MAX], late[SECCOMP_PROGRAM_MAX];
        char why[200];
        FILE *out;
        int len, late_len;

        if (argc != 3) {
                fprintf(stderr, "usage: seccomp_gen x86_64|aarch64 OUT.c\n");
                return EXIT_FAILURE;
        }
        len = seccomp_compile(argv[1], filter, why, sizeof(why));
        late_len = len < 0 ? len : seccomp_compile_late(argv[1], late, why, sizeof(why));
        if (late_len < 0) {
                fprintf(stderr, "seccomp_gen: %s\n", why);
                return EXIT_FAILURE;
        }
        out = fopen(argv[2], "we");
        if (out == NULL) {
                perror(argv[2]);
                return EXIT_FAILURE;
        }
        fprintf(out,
                "/* The seccomp filters for %s.  Do not edit: tools/seccomp_gen made them from\n"
                " * src/jail/syscalls.def when Cella was built. */\n"
                "#include \"jail/seccomp_filter.h\"\n\n",
                argv[1]);
        write_array(out, "seccomp_filter", filter, len);
        write_array(out, "seccomp_late", late, late_len);
        int bad = ferror(out);
        if (fclose(out) != 0 || bad) {
                perror(argv[2]);
                remove(argv[2]); /* half a filter must not look like a finished one */
                return EXIT_FAILURE;
        }
        return EXIT_SUCCESS;
}
