/* test/unit/egress_dns_message.h -- puts DNS messages together, right and wrong ones: include it in one file.
 */
#pragma once
#include "egress/dns.h"
#include "test.h"

#define WIRE(text) text, sizeof(text) - 1

struct message {
        uint8_t data[65535];
        size_t length;
};

static struct message m;

static inline void put(const void *data, size_t length)
{
        memcpy(m.data + m.length, data, length);
        m.length += length;
}

static inline void put16(unsigned value)
{
        m.data[m.length++] = (uint8_t)(value >> 8);
        m.data[m.length++] = (uint8_t)value;
}

/* "a.b": labels and the root; "@N": a pointer to N; "a.@N": both. */
static inline void put_name(const char *name)
{
        while (*name != '\0' && *name != '@') {
                size_t length = strcspn(name, ".");

                m.data[m.length++] = (uint8_t)length;
                put(name, length);
                name += length + (name[length] == '.');
        }
        if (*name == '@')
                put16(0xc000u | (unsigned)atoi(name + 1));
        else
                m.data[m.length++] = 0;
}

static inline void begin(unsigned id, unsigned flags, unsigned questions, unsigned answers,
                         unsigned authority, unsigned additional)
{
        m.length = 0;
        put16(id);
        put16(flags);
        put16(questions);
        put16(answers);
        put16(authority);
        put16(additional);
}

static inline void put_question(const char *name, unsigned type, unsigned class)
{
        put_name(name);
        put16(type);
        put16(class);
}

static inline void put_record(const char *owner, unsigned type, uint32_t ttl, const void *data, size_t length)
{
        put_question(owner, type, 1);
        put16(ttl >> 16);
        put16(ttl & 0xffff);
        put16((unsigned)length);
        put(data, length);
}

static inline void put_a(const char *owner, uint32_t ttl, const char *address)
{
        struct address a;

        CHECK_INT(address_parse(address, strlen(address), &a), 0);
        if (address_is_v4(&a))
                put_record(owner, DNS_A, ttl, a.bytes + 12, 4);
        else
                put_record(owner, DNS_AAAA, ttl, a.bytes, 16);
}

static inline void put_cname(const char *owner, uint32_t ttl, const char *target)
{
        size_t at;

        put_record(owner, 5, ttl, "", 0);
        at = m.length;
        put_name(target);
        m.data[at - 2] = (uint8_t)((m.length - at) >> 8);
        m.data[at - 1] = (uint8_t)(m.length - at);
}

static inline void put_soa(const char *owner, uint32_t ttl, uint32_t minimum)
{
        size_t at;

        put_record(owner, 6, ttl, "", 0);
        at = m.length;
        put_name("ns.@12");
        put_name("mail.@12");
        for (int i = 0; i < 8; i++)
                put16(0x7fff);
        put16(minimum >> 16);
        put16(minimum & 0xffff);
        m.data[at - 1] = (uint8_t)(m.length - at);
}

/* A copy of exactly the length, so that a read beyond it is found. */
static inline int read_question(size_t length, struct dns_question *q)
{
        uint8_t *copy = malloc(length);
        int r;

        memcpy(copy, m.data, length);
        r = dns_read_question(copy, length, q);
        free(copy);
        return r;
}

static inline int read_answer_of(size_t length, const char *name, uint16_t type, struct dns_answer *a)
{
        uint8_t *copy = malloc(length);
        int r;

        memcpy(copy, m.data, length);
        r = dns_read_answer(copy, length, 0x1234, name, type, a);
        free(copy);
        return r;
}

static inline int read_answer(struct dns_answer *a)
{
        *a = (struct dns_answer){0};
        return read_answer_of(m.length, "www.example.com", DNS_A, a);
}

#define ANSWER 0x8180
#define ASKED put_question("www.example.com", DNS_A, 1)

static inline const char *written(const struct dns_answer *a, size_t i)
{
        static char text[46];

        address_write(&a->addresses[i], text);
        return text;
}
