#include "wire/imager.h"

#include "test.h"

static char credentials[30000];

/* Builds the password at run time, so that memory contains it only where a test puts it. */
static void put_password(char *ret)
{
        for (int i = 0; i < 24; i++)
                ret[i] = (char)('a' + i * 7 % 26);
}

/* Counts the copies of the password in the heap. */
static int in_heap(void)
{
        char line[400], password[24];
        unsigned long from, to;
        int found = 0;
        FILE *maps = fopen("/proc/self/maps", "re");
        put_password(password);
        while (maps && fgets(line, sizeof line, maps))
                if (strstr(line, "[heap]") && sscanf(line, "%lx-%lx", &from, &to) == 2)
                        for (const char *at = (const char *)from; at + sizeof password <= (const char *)to;
                             at++)
                                found += memcmp(at, password, sizeof password) == 0;
        if (maps)
                fclose(maps);
        return found;
}

/* Not with an allocator that has its memory elsewhere, as sanitizers have. */
static bool can_look(const char *test)
{
        char *probe = malloc(24);
        put_password(probe);
        const bool seen = in_heap() == 1;
        explicit_bzero(probe, 24);
        free(probe);
        if (!seen)
                printf("skip %s: this is not libc's own heap\n", test);
        return seen;
}

TEST(no_copy_of_a_password_stays_behind)
{
        if (!can_look("no_copy_of_a_password_stays_behind"))
                return;
        const struct imager_pull pull = {"registry.example/x:1", NULL, false, credentials};
        char *line = NULL, *one = malloc(1);
        size_t len = 0;
        CHECK(one);                                       /* there is a heap */
        memset(credentials, ' ', sizeof credentials - 1); /* long, so that a buffer would have to grow */
        memcpy(credentials, "{\"password\":\"", 13);
        put_password(credentials + 13);
        memcpy(credentials + sizeof credentials - 3, "\"}", 3);
        CHECK_INT(imager_write_pull(7, &pull, &line, &len), 0);
        CHECK_INT(len, strlen(line));
        CHECK_INT(line[len - 1], '\n');
        CHECK(strstr(line, "\"op\":\"pull\"") || strstr(line, "\"op\": \"pull\""));
        CHECK_INT(in_heap(), 1);
        explicit_bzero(line, len);
        free(line);
        CHECK_INT(in_heap(), 0);
}

TEST(a_request_that_is_too_long_is_none_and_leaves_nothing)
{
        static char text[IMAGER_LINE_MAX + 1];
        const struct imager_pull pull = {"x:1", NULL, false, text};
        char *line = NULL;
        size_t len = 0;
        memset(text, ' ', sizeof text - 1);
        put_password(text + 100);
        CHECK_INT(imager_write_pull(7, &pull, &line, &len), -E2BIG);
        CHECK(!line);
        CHECK_INT(in_heap(), 0);
}

TEST(the_bound_of_the_store_is_sent_as_a_number)
{
        char *line = NULL;
        size_t len = 0;
        CHECK_INT(imager_write_bound(3, 1ull << 40, &line, &len), 0);
        CHECK(strstr(line, "1099511627776"));
        free(line);
}
