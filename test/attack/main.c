/* cella-attacks -- every attack in one static program.
 *
 *      cella-attacks --list                    name, wall and what it tries, tab between
 *      cella-attacks --list-bombs              those that use things up
 *      cella-attacks NAME nonce=... [KEY=VALUE...]
 *
 * Exit status: 0 the attack succeeded, 1 it was blocked, 2 it could not be tried.
 * It must run inside a sandbox only: outside, as root, the attacks succeed. */
#include "attack.h"

#include "wall_names.h"

enum field_type { FIELD_TEXT, FIELD_NUMBER };

static const struct field {
        const char *key;
        enum field_type type;
        size_t offset;
} fields[] = {
#define TEXT(name) .key = #name, .type = FIELD_TEXT, .offset = offsetof(struct attack_victim, name)
#define NUMBER(name) .key = #name, .type = FIELD_NUMBER, .offset = offsetof(struct attack_victim, name)
        {TEXT(nonce)},    {TEXT(host_file)}, {TEXT(link)},     {TEXT(dir)},       {TEXT(shm_file)},
        {TEXT(socket)},   {TEXT(abstract)},  {TEXT(queue)},    {TEXT(host_name)}, {NUMBER(fd)},
        {NUMBER(dir_fd)}, {NUMBER(pid)},     {NUMBER(pid_ns)}, {NUMBER(port)},    {NUMBER(shm_key)},
        {NUMBER(limit)},  {TEXT(terminal)},  {NUMBER(users)},
};
#define N_FIELDS (sizeof fields / sizeof *fields)

static void list(unsigned flags)
{
        for (const struct attack *a = attack_first(); a; a = a->next) {
                const char *plus = "";

                if (a->flags != flags)
                        continue;
                printf("%s\t", a->name);
                for (size_t i = 0; i < N_WALLS; i++) {
                        if (!(a->wall & 1u << i))
                                continue;
                        printf("%s%s", plus, wall_names[i]);
                        plus = "+";
                }
                printf("\t%s\n", a->what);
        }
}

/* Unknown keys are accepted: the runner marks its processes with one. */
static void set_field(struct attack_victim *victim, const char *argument)
{
        for (size_t i = 0; i < N_FIELDS; i++) {
                size_t n = strlen(fields[i].key);
                void *at = (char *)victim + fields[i].offset;

                if (strncmp(argument, fields[i].key, n) != 0 || argument[n] != '=')
                        continue;
                if (fields[i].type == FIELD_TEXT)
                        *(const char **)at = argument + n + 1;
                else
                        *(long *)at = strtol(argument + n + 1, NULL, 10);
        }
}

int main(int argc, char **argv)
{
        struct attack_victim victim = {
                .fd = -1, .dir_fd = -1, .pid = -1, .pid_ns = -1, .port = -1, .shm_key = -1, .limit = -1};

        if (argc == 2 && strcmp(argv[1], "--list") == 0)
                return list(0), fflush(stdout) == 0 ? 0 : ATTACK_BROKEN;
        if (argc == 2 && strcmp(argv[1], "--list-bombs") == 0)
                return list(ATTACK_BOMB), fflush(stdout) == 0 ? 0 : ATTACK_BROKEN;
        for (int i = 2; i < argc; i++)
                set_field(&victim, argv[i]);

        attack_fuse();

        /* A mistyped command on the bare machine must not be an attack on it. */
        if (!victim.nonce) {
                fprintf(stderr,
                        "usage: cella-attacks NAME nonce=TEXT [KEY=VALUE...]   (in a sandbox only)\n");
                return ATTACK_BROKEN;
        }
        for (const struct attack *a = attack_first(); a; a = a->next)
                if (strcmp(a->name, argv[1]) == 0)
                        return (int)a->run(&victim);
        attack_say("no such attack: %s", argv[1]);
        return ATTACK_BROKEN;
}
