/* test/fuzz/egress_dns.c -- DNS: questions of sandboxes and answers of resolvers.  What we answer, we also
 * read. */
#include "egress/dns.h"
#include "fuzz.h"

static void question(const uint8_t *data, size_t size)
{
        struct address addresses[3] = {{{[10] = 0xff, [11] = 0xff, [15] = 1}}, {{0xfd}}, {{0x20, 1}}};
        uint8_t answer[DNS_MESSAGE_MAX];
        struct dns_question q;
        struct dns_answer a;
        int r = dns_read_question(data, size, &q);
        size_t length;

        if (q.end > size || (r == 0 && q.end < 17))
                abort();
        for (const char *p = q.shown; *p != '\0'; p++)
                if (*p <= ' ' || *p > '~')
                        abort();
        length = dns_write_answer(data, &q, r < 0 ? DNS_FORMERR : DNS_OK, addresses, 3, 60, answer);
        if (length > 512)
                abort();
        if (r < 0 || !q.has_name || q.class != 1)
                return;
        if (dns_read_answer(answer, length, q.id, q.name, q.type, &a) < 0)
                abort();
        if (a.n != (q.type == DNS_A ? 1 : q.type == DNS_AAAA ? 2 : 0))
                abort();
        length = dns_write_question(q.id, q.name, q.type, answer);
        if (length == 0 || dns_read_question(answer, length, &q) < 0 || !q.has_name)
                abort();
}

static void answer_to(const uint8_t *data, size_t size, uint16_t type)
{
        struct dns_answer a;

        if (dns_read_answer(data, size, 0x1234, "www.example.com", type, &a) < 0)
                return;
        if (a.n > DNS_ADDRESSES_MAX || (a.truncated && a.n > 0) || (a.code != DNS_OK && a.n > 0))
                abort();
        for (size_t i = 0; i < a.n; i++)
                if (type == DNS_A && !address_is_v4(&a.addresses[i]))
                        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const uint8_t begin[] = "\x12\x34\x81\x80\0\1\0\1\0\1\0\0\3www\7example\3com\0\0\1\0";
        uint8_t *message = malloc(sizeof(begin) + size);

        question(data, size);
        answer_to(data, size, DNS_A);
        answer_to(data, size, DNS_AAAA);
        if (size > 3) { /* an answer with a valid header and question; the rest is the fuzzer's */
                memcpy(message, begin, sizeof(begin));
                message[sizeof(begin) - 1] = 1;
                message[3] = data[0];
                message[7] = data[1];
                message[9] = data[2];
                memcpy(message + sizeof(begin), data + 3, size - 3);
                answer_to(message, sizeof(begin) + size - 3, DNS_A);
                message[sizeof(begin) - 3] = DNS_AAAA;
                answer_to(message, sizeof(begin) + size - 3, DNS_AAAA);
        }
        free(message);
        return 0;
}
