/* ClientHellos: those of real clients, and made ones that are wrong in one way each. */
#include "egress/hello.h"

#include "egress_hellos.h"
#include "test.h"

/* ---- builds a ClientHello ---- */

struct bytes {
        uint8_t data[8 * HELLO_MAX];
        size_t length;
};

static void put(struct bytes *b, const void *data, size_t length)
{
        memcpy(b->data + b->length, data, length);
        b->length += length;
}

static void put_number(struct bytes *b, size_t size, size_t value)
{
        while (size-- > 0)
                b->data[b->length++] = (uint8_t)(value >> 8 * size);
}

static void put_vector(struct bytes *b, size_t size, const void *data, size_t length)
{
        put_number(b, size, length);
        put(b, data, length);
}

static void put_extension(struct bytes *b, unsigned type, const void *data, size_t length)
{
        put_number(b, 2, type);
        put_vector(b, 2, data, length);
}

/* server_name with one entry. */
static void put_name(struct bytes *b, unsigned type, const char *name, size_t length)
{
        static struct bytes entry, list;

        entry.length = list.length = 0;
        put_number(&entry, 1, type);
        put_vector(&entry, 2, name, length);
        put_vector(&list, 2, entry.data, entry.length);
        put_extension(b, 0, list.data, list.length);
}

/* The message with its header, of its extensions.  NULL: none, not even their length. */
static void make_message(struct bytes *ret, const struct bytes *extensions)
{
        static const uint8_t suites[] = {0x13, 0x01, 0x13, 0x02, 0xc0, 0x2f}, random[32] = {1, 2, 3};
        static struct bytes body;

        body.length = 0;
        put_number(&body, 2, 0x0303);
        put(&body, random, sizeof(random));
        put_vector(&body, 1, random, 32);
        put_vector(&body, 2, suites, sizeof(suites));
        put_vector(&body, 1, "", 1);
        if (extensions != NULL)
                put_vector(&body, 2, extensions->data, extensions->length);
        ret->length = 0;
        put_number(ret, 1, 1);
        put_vector(ret, 3, body.data, body.length);
}

/* Splits the message into records of so many bytes. */
static void make_records(struct bytes *ret, const struct bytes *message, size_t size)
{
        ret->length = 0;
        for (size_t at = 0; at < message->length; at += size) {
                size_t n = message->length - at < size ? message->length - at : size;

                put_number(ret, 1, 22);
                put_number(ret, 2, 0x0301);
                put_vector(ret, 2, message->data + at, n);
        }
}

static struct bytes extensions, message, records;

static int read_made(const struct bytes *with, char name[NAME_MAX_BYTES])
{
        make_message(&message, with);
        make_records(&records, &message, 16384);
        return hello_read(records.data, records.length, name);
}

/* With a copy of exactly the length, so that a read beyond it is found. */
static int read_exactly(const uint8_t *data, size_t length, char name[NAME_MAX_BYTES])
{
        uint8_t *copy = malloc(length);
        int r;

        memcpy(copy, data, length);
        r = hello_read(copy, length, name);
        free(copy);
        return r;
}

static void check_every_split(const uint8_t *data, size_t length, int last, const char *should)
{
        for (size_t i = 0; i < length; i++) {
                char name[NAME_MAX_BYTES] = "untouched";

                CHECK_INT(read_exactly(data, i, name), 0);
                CHECK_STR(name, "untouched");
        }
        char name[NAME_MAX_BYTES] = "untouched";
        CHECK_INT(read_exactly(data, length, name), last);
        CHECK_STR(name, should);
}

/* ---- tests ---- */

TEST(real_clients_split_at_every_byte)
{
        check_every_split(hello_curl, sizeof(hello_curl), 1, "api.example.com");
        check_every_split(hello_python_tls12, sizeof(hello_python_tls12), 1, "api.example.com");
        check_every_split(hello_openssl, sizeof(hello_openssl), 1, "api.example.com");
        check_every_split(hello_node, sizeof(hello_node), 1, "api.example.com");
        check_every_split(hello_openssl_no_name, sizeof(hello_openssl_no_name), -ENOENT, "untouched");
}

/* Early data or a second flight follows in the same read. */
TEST(records_behind_the_hello_are_ignored)
{
        static const uint8_t early[] = {23, 3, 3, 0, 2, 'h', 'i'}, junk[] = "GET / HTTP/1.1\r\n";
        struct bytes *b = &records;
        char name[NAME_MAX_BYTES];

        b->length = 0;
        put(b, hello_curl, sizeof(hello_curl));
        put(b, early, sizeof(early));
        CHECK_INT(read_exactly(b->data, b->length, name), 1);
        put(b, junk, sizeof(junk));
        CHECK_INT(read_exactly(b->data, b->length, name), 1);
        b->length = HELLO_MAX + 500;
        CHECK_INT(read_exactly(b->data, b->length, name), 1);
        CHECK_STR(name, "api.example.com");
}

TEST(fragments_of_every_size_are_put_together)
{
        for (size_t size = 1; size <= sizeof(hello_node); size++) {
                char name[NAME_MAX_BYTES] = "";

                message.length = 0;
                put(&message, hello_node + 5, sizeof(hello_node) - 5);
                make_records(&records, &message, size);
                CHECK_INT(read_exactly(records.data, records.length, name), 1);
                CHECK_STR(name, "api.example.com");
                if (size < 8 || size == 100)
                        check_every_split(records.data, records.length, 1, "api.example.com");
        }
}

TEST(names_are_normalised_or_refused)
{
        static const struct {
                const char *text;
                size_t length;
                const char *name; /* NULL: refused */
        } cases[] = {
#define NAME(text) text, sizeof(text) - 1
                {NAME("example.com"), "example.com"},
                {NAME("EXAMPLE.com."), "example.com"},
                {NAME("xn--bcher-kva.example"), "xn--bcher-kva.example"},
                {NAME(""), NULL},
                {NAME("."), NULL},
                {NAME("example.com.."), NULL},
                {NAME("allowed.example\0.evil.example"), NULL},
                {NAME("allowed.example\0"), NULL},
                {NAME("b\xc3\xbc"
                      "cher.example"),
                 NULL},
                {NAME("*.example.com"), NULL},
                {NAME("example.com:443"), NULL},
                {NAME("127.0.0.1"), NULL}, /* RFC 6066: no addresses */
                {NAME("2130706433"), NULL},
                {NAME("0x7f.1"), NULL},
                {NAME("::1"), NULL},
                {NAME("[::1]"), NULL},
                {NAME("169.254.169.254"), NULL},
#undef NAME
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                char name[NAME_MAX_BYTES] = "untouched";

                extensions.length = 0;
                put_name(&extensions, 0, cases[i].text, cases[i].length);
                CHECK_INT(read_made(&extensions, name), cases[i].name ? 1 : -EINVAL);
                CHECK_STR(name, cases[i].name ? cases[i].name : "untouched");
        }
        char long_name[300], name[NAME_MAX_BYTES];
        memset(long_name, 'a', sizeof(long_name));
        for (size_t i = 50; i < sizeof(long_name); i += 50)
                long_name[i] = '.';
        for (size_t length = 240; length < sizeof(long_name); length++) {
                extensions.length = 0;
                put_name(&extensions, 0, long_name, length);
                CHECK_INT(read_made(&extensions, name),
                          length < 254 || (length == 254 && long_name[253] == '.') ? 1 : -EINVAL);
        }
}

TEST(several_server_names_are_refused)
{
        static struct bytes list;
        char name[NAME_MAX_BYTES] = "untouched";

        /* two extensions */
        extensions.length = 0;
        put_name(&extensions, 0, "allowed.example", 15);
        put_name(&extensions, 0, "evil.example", 12);
        CHECK_INT(read_made(&extensions, name), -EINVAL);
        /* also if the other one is empty, or the same */
        extensions.length = 0;
        put_extension(&extensions, 0, "", 0);
        put_name(&extensions, 0, "allowed.example", 15);
        CHECK_INT(read_made(&extensions, name), -EINVAL);
        extensions.length = 0;
        put_name(&extensions, 0, "allowed.example", 15);
        put_extension(&extensions, 21, "\0\0\0", 3);
        put_name(&extensions, 0, "allowed.example", 15);
        CHECK_INT(read_made(&extensions, name), -EINVAL);
        /* two entries; of whatever type */
        for (unsigned type = 0; type < 3; type++) {
                list.length = extensions.length = 0;
                put_number(&list, 2, 3 + 15 + 3 + 12);
                put_number(&list, 1, 0);
                put_vector(&list, 2, "allowed.example", 15);
                put_number(&list, 1, type);
                put_vector(&list, 2, "evil.example", 12);
                put_extension(&extensions, 0, list.data, list.length);
                CHECK_INT(read_made(&extensions, name), -EINVAL);
        }
        /* one entry of another type */
        extensions.length = 0;
        put_name(&extensions, 1, "allowed.example", 15);
        CHECK_INT(read_made(&extensions, name), -EINVAL);
        /* none */
        extensions.length = 0;
        put_extension(&extensions, 0, "", 0);
        CHECK_INT(read_made(&extensions, name), -EINVAL);
        extensions.length = 0;
        put_extension(&extensions, 0, "\0\0", 2);
        CHECK_INT(read_made(&extensions, name), -EINVAL);
        CHECK_STR(name, "untouched");
}

TEST(a_hello_without_a_server_name_is_reported)
{
        char name[NAME_MAX_BYTES];

        extensions.length = 0;
        CHECK_INT(read_made(NULL, name), -ENOENT);
        CHECK_INT(read_made(&extensions, name), -ENOENT);
        put_extension(&extensions, 0x0a0a, "", 0);
        put_extension(&extensions, 16, "\0\3\2h2", 5);
        CHECK_INT(read_made(&extensions, name), -ENOENT);
}

/* With Encrypted ClientHello the outer name is where the connection goes; and unknown extensions are skipped.
 */
TEST(ech_and_grease_do_not_matter)
{
        static uint8_t payload[600];
        char name[NAME_MAX_BYTES];

        memcpy(payload + 100, "\0\0\0\20\0\16\0\0\13evil.example", 21); /* not a server name */
        extensions.length = 0;
        put_extension(&extensions, 0xfafa, "", 0);
        put_extension(&extensions, 0xfe0d, payload, sizeof(payload));
        put_name(&extensions, 0, "public.example", 14);
        put_extension(&extensions, 0x1a1a, "\0", 1);
        CHECK_INT(read_made(&extensions, name), 1);
        CHECK_STR(name, "public.example");
        check_every_split(records.data, records.length, 1, "public.example");
}

/* Every length that lies by one, at every place, is either noticed or of a part that is not looked into. */
TEST(wrong_lengths_are_refused)
{
        struct {
                size_t at; /* in the records */
                int more, less;
        } cases[] = {
                {4, -EPROTO, -EPROTO},  /* the record: too much in it, or it goes on in what is none */
                {8, -EPROTO, -EPROTO},  /* the message */
                {43, -EPROTO, -EPROTO}, /* session: too long; then everything is off */
                {77, -EPROTO, -EPROTO}, /* cipher suites: odd */
                {84, -EPROTO, -EPROTO}, /* compressions */
                {87, -EPROTO, -EPROTO}, /* extensions */
                {91, -EPROTO, -EPROTO}, /* server_name */
                {93, -EPROTO, -EPROTO}, /* its list */
                {96, -EPROTO, -EINVAL}, /* the name: less, and something follows it */
        };
        char name[NAME_MAX_BYTES];

        extensions.length = 0;
        put_name(&extensions, 0, "example.com", 11);
        CHECK_INT(read_made(&extensions, name), 1);
        CHECK_INT(records.data[96], 11);
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                records.data[cases[i].at]++;
                if (cases[i].at == 8) /* one more byte is expected, but the record has none */
                        CHECK_INT(read_exactly(records.data, records.length, name), 0);
                else
                        CHECK_INT(read_exactly(records.data, records.length, name), cases[i].more);
                records.data[cases[i].at] -= 2;
                CHECK_INT(read_exactly(records.data, records.length, name), cases[i].less);
                records.data[cases[i].at]++;
        }
        CHECK_INT(read_exactly(records.data, records.length, name), 1);
}

/* All lengths are consistent, but not allowed; servers treat such messages differently. */
TEST(vectors_of_wrong_sizes_are_refused)
{
        static const struct {
                size_t session, suites, compressions, behind;
                int r;
        } cases[] = {
                {0, 2, 1, 0, 1},         {32, 2, 1, 0, 1},      {32, 200, 255, 0, 1},  {33, 2, 1, 0, -EPROTO},
                {255, 2, 1, 0, -EPROTO}, {0, 0, 1, 0, -EPROTO}, {0, 1, 1, 0, -EPROTO}, {0, 3, 1, 0, -EPROTO},
                {0, 2, 0, 0, -EPROTO},   {0, 2, 1, 1, -EPROTO},
        };
        static const uint8_t zeros[256] = {0};

        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                static struct bytes body;
                char name[NAME_MAX_BYTES];

                extensions.length = body.length = message.length = 0;
                put_name(&extensions, 0, "example.com", 11);
                put(&extensions, zeros, cases[i].behind); /* behind the list, in the extension */
                extensions.data[3] = (uint8_t)(extensions.data[3] + cases[i].behind);
                put_number(&body, 2, 0x0303);
                put(&body, zeros, 32);
                put_vector(&body, 1, zeros, cases[i].session);
                put_vector(&body, 2, zeros, cases[i].suites);
                put_vector(&body, 1, zeros, cases[i].compressions);
                put_vector(&body, 2, extensions.data, extensions.length);
                put_number(&message, 1, 1);
                put_vector(&message, 3, body.data, body.length);
                make_records(&records, &message, 16384);
                CHECK_INT(read_exactly(records.data, records.length, name), cases[i].r);
        }
}

TEST(bytes_behind_the_hello_in_its_record_are_refused)
{
        static const uint8_t second[] = {1, 0, 0, 2, 3, 3};
        char name[NAME_MAX_BYTES];

        extensions.length = 0;
        put_name(&extensions, 0, "example.com", 11);
        make_message(&message, &extensions);
        put(&message, second, sizeof(second)); /* another message behind it */
        make_records(&records, &message, 16384);
        CHECK_INT(read_exactly(records.data, records.length, name), -EPROTO);
        CHECK_INT(read_exactly(records.data, records.length - 3, name), -EPROTO); /* at once */
        make_records(&records, &message, message.length - sizeof(second)); /* in a record of its own: later */
        CHECK_INT(read_exactly(records.data, records.length, name), 1);
        /* inside the message, behind the extensions */
        make_message(&message, &extensions);
        message.data[message.length++] = 0;
        message.data[3]++;
        make_records(&records, &message, 16384);
        CHECK_INT(read_exactly(records.data, records.length, name), -EPROTO);
}

TEST(messages_that_are_no_client_hello_are_refused)
{
        static const struct {
                const char *bytes;
                size_t length;
        } cases[] = {
#define BYTES(text) {text, sizeof(text) - 1}
                BYTES("G"),
                BYTES("GET / HTTP/1.1\r\n"),
                BYTES("\x80\x2e\x01\x03\x01"), /* SSLv2's */
                BYTES("\x00\x2e\x00\x01\x03\x01"),
                BYTES("\x15\x03\x01\x00\x02\x02\x28"), /* an alert */
                BYTES("\x17\x03\x03\x00\x01\x00"),     /* data */
                BYTES("\x14\x03\x03\x00\x01\x01"),
                BYTES("\x16\x02"),
                BYTES("\x16\x03\x05"),
                BYTES("\x16\xfe\xff"),         /* DTLS */
                BYTES("\x16\x03\x01\x00\x00"), /* an empty record */
                BYTES("\x16\x03\x01\x40\x01"), /* one that is too long */
                BYTES("\x16\x03\x01\xff\xff"),
                BYTES("\x16\x03\x01\x00\x04\x02\x00\x00\x00"), /* a ServerHello */
                BYTES("\x16\x03\x01\x00\x04\x00"),             /* a HelloRequest */
                BYTES("\x16\x03\x01\x00\x04\x01\x00\x00\x00"), /* nothing in it */
                BYTES("\x16\x03\x01\x00\x05\x01\x00\x00\x00\x00"),
                BYTES("\x16\x03\x01\x00\x02\x01\x00\x17"), /* something else between two parts */
                BYTES("\x16\x03\x01\x00\x02\x01\x00\x16\x03\x01\x00\x00"),
#undef BYTES
        };
        char name[NAME_MAX_BYTES];

        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
                CHECK_INT(read_exactly((const uint8_t *)cases[i].bytes, cases[i].length, name), -EPROTO);
        for (int type = 0; type < 256; type++) {
                uint8_t first = (uint8_t)type;

                CHECK_INT(read_exactly(&first, 1, name), type == 22 ? 0 : -EPROTO);
        }
        CHECK_INT(hello_read((const uint8_t *)"", 0, name), 0);
        message.length = 0;
        put(&message, hello_openssl, sizeof(hello_openssl));
        message.data[9] = 2; /* the version inside */
        CHECK_INT(read_exactly(message.data, message.length, name), -EPROTO);
}

TEST(a_hello_that_is_too_long_is_refused_at_its_header)
{
        static const uint8_t begin[] = {22, 3, 1, 0x40, 0, 1, 0, 0x80, 0},
                             huge[] = {22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff};
        static uint8_t padding[30000];
        char name[NAME_MAX_BYTES];

        CHECK_INT(read_exactly(begin, sizeof(begin), name), -EMSGSIZE);
        CHECK_INT(read_exactly(huge, sizeof(huge), name), -EMSGSIZE);
        /* a long one that fits, in two records */
        extensions.length = 0;
        put_extension(&extensions, 21, padding, sizeof(padding));
        put_name(&extensions, 0, "example.com", 11);
        CHECK_INT(read_made(&extensions, name), 1);
        CHECK_STR(name, "example.com");
        /* the same in records of one byte: six times as long */
        make_records(&records, &message, 1);
        CHECK_INT(hello_read(records.data, HELLO_MAX - 1, name), 0);
        CHECK_INT(hello_read(records.data, HELLO_MAX, name), -EMSGSIZE);
        CHECK_INT(hello_read(records.data, sizeof(records.data), name), -EMSGSIZE);
}
