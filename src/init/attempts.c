#include "init/attempts.h"

#include <fcntl.h>
#include <string.h>

#include "base/auto.h"
#include "sys/file.h"

/* Both files are shorter; of a longer one, the rest is not counted. */
#define TEXT_MAX 8192

static bool begun;     /* a command has run: the counters may not be 0 any more */
static uint64_t known; /* their sum at that time */

static uint64_t number_at(const char *text)
{
        uint64_t n = 0;
        for (; *text >= '0' && *text <= '9'; text++)
                n = n * 10 + (uint64_t)(*text - '0');
        return n;
}

/* Returns the line that begins with this word; NULL: none. */
static const char *line_of(const char *text, const char *word)
{
        const size_t len = strlen(word);
        while (text && strncmp(text, word, len) != 0) {
                text = strchr(text, '\n');
                text = text && text[1] ? text + 1 : NULL;
        }
        return text;
}

/* Of /proc/net/snmp: two lines for each group, the first with names and the second with values. */
static uint64_t column_of(const char *text, const char *group, const char *name)
{
        const size_t len = strlen(name);
        const char *names = line_of(text, group), *values = names ? strchr(names, '\n') : NULL;
        if (!values || strncmp(++values, group, strlen(group)) != 0)
                return 0;
        for (; *names && *names != '\n'; names++, values++) {
                if (!strncmp(names, name, len) && (names[len] == ' ' || names[len] == '\n'))
                        return number_at(values);
                names += strcspn(names, " \n");
                values += strcspn(values, " \n");
                if (*names != ' ' || *values != ' ')
                        return 0;
        }
        return 0;
}

/* Of /proc/net/snmp6: a name and a value in each line. */
static uint64_t value_of(const char *text, const char *name)
{
        const char *line = line_of(text, name);
        return line ? number_at(line + strlen(name) + strspn(line + strlen(name), " \t")) : 0;
}

uint64_t attempts_count(const char *snmp, const char *snmp6)
{
        return column_of(snmp, "Ip:", "OutNoRoutes") + column_of(snmp, "Udp:", "NoPorts") +
               value_of(snmp6, "Ip6OutNoRoutes ") + value_of(snmp6, "Udp6NoPorts ");
}

static void attempts_read_file(const char *path, char text[TEXT_MAX])
{
        AUTO(sys_close) int fd = sys_openat(AT_FDCWD, path, O_RDONLY, 0);
        size_t len = 0, room = TEXT_MAX - 1;
        while (fd >= 0 && room > len) {
                const ssize_t n = sys_read(fd, text + len, room - len);
                if (n <= 0)
                        break;
                len += (size_t)n;
        }
        text[len] = '\0';
}

/* 0 if the files are missing: without procfs, or in another kernel. */
static uint64_t count_now(void)
{
        static char snmp[TEXT_MAX], snmp6[TEXT_MAX];
        attempts_read_file("/proc/self/net/snmp", snmp);
        attempts_read_file("/proc/self/net/snmp6", snmp6);
        return attempts_count(snmp, snmp6);
}

/* The first command needs no look: the namespace is new. */
void attempts_begin(void)
{
        if (begun)
                known = count_now();
        begun = true;
}

bool attempts_made(void)
{
        const uint64_t before = known;
        known = count_now();
        return known > before;
}
