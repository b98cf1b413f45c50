#include "keeper/spawn/slots.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"
#include "wire/init.h"

static int pair[2];

static void prepare(struct slots *s)
{
        CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        slots_init(s, STDERR_FILENO);
}

/* Whether nobody has the other end of the socket. */
static bool is_closed(void)
{
        char byte;
        return recv(pair[0], &byte, 1, MSG_DONTWAIT) == 0;
}

TEST(an_end_stays_open_until_its_child_has_a_copy)
{
        struct slots s;
        bool copied = false;
        prepare(&s);
        const int number = slots_put(&s, pair[1], &copied);
        close(pair[1]);
        CHECK(number >= INIT_FREE_FD);
        CHECK_INT(fcntl(number, F_GETFD), FD_CLOEXEC);
        CHECK(slots_tidy(&s));
        CHECK(!is_closed());
        copied = true;
        CHECK(!slots_tidy(&s));
        CHECK(is_closed());
        CHECK_INT(fcntl(number, F_GETFD), FD_CLOEXEC); /* the number is still reserved */
        close(pair[0]);
}

TEST(an_end_is_closed_with_a_child_that_did_not_run)
{
        struct slots s;
        bool copied = false, another = false;
        prepare(&s);
        const int number = slots_put(&s, pair[1], &copied);
        close(pair[1]);
        slots_remove(&s, &another);
        CHECK(!is_closed());
        slots_remove(&s, &copied);
        CHECK(is_closed());
        CHECK_INT(slots_put(&s, STDERR_FILENO, &another), number);
        slots_remove(&s, &copied); /* another child has the slot now */
        CHECK_INT(s.used, 1);
        close(pair[0]);
}

TEST(a_child_without_a_slot_gets_a_copy_of_all_descriptors)
{
        struct slots s;
        bool copied[SLOTS + 1] = {false};
        prepare(&s);
        for (int i = 0; i < SLOTS; i++)
                CHECK(slots_put(&s, pair[1], &copied[i]) >= 0);
        CHECK_INT(slots_put(&s, pair[1], &copied[SLOTS]), -1);
        copied[3] = true;
        CHECK(slots_tidy(&s));
        CHECK(slots_put(&s, pair[1], &copied[SLOTS]) >= 0);
        close(pair[0]);
        close(pair[1]);
}
