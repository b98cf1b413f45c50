#include "schema/schema.h"

#include "base/err.h"
#include "test.h"

static int even(const json_t *value, const char *path, struct cella_err *err)
{
        if (json_integer_value(value) % 2 != 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s must be even", path);
        return 0;
}

static const char *const tiers[] = {"restricted", "standard", "elevated", NULL};

static const struct field limits[] = {
        {"memory_bytes", FIELD_INTEGER, .min = 4194304, .max = 1099511627776, .standard = "536870912"},
        {"cpus", FIELD_NUMBER, .min = 10, .max = 1024000, .standard = "1.0", .help = "CPU cores."},
        {"cpu_time_ms", FIELD_INTEGER, FIELD_NULLABLE, .min = 1, .max = 1000, .standard = "null"},
        {"memory", FIELD_INTEGER, .min = 1, .max = 0},
        {NULL},
};
static const struct field text_item = {NULL, FIELD_STRING, FIELD_NO_NUL, .max = 16};
static const struct field any_item = {NULL, FIELD_STRING};
static const struct field pool[] = {
        {"runtime", FIELD_STRING, FIELD_REQUIRED},
        {"size", FIELD_INTEGER, .max = 64, .standard = "4"},
        {NULL},
};
static const char *const autos[] = {"auto", "none", NULL};
static const struct field pool_item = {NULL, FIELD_OBJECT, .fields = pool};

static const struct field request[] = {
        {"runtime", FIELD_STRING, FIELD_REQUIRED | FIELD_NO_NUL, .min = 1, .max = 32,
         .help = "How to run it."},
        {"code", FIELD_STRING},
        {"command", FIELD_ARRAY, .min = 1, .max = 4, .item = &text_item},
        {"env", FIELD_MAP, .max = 3, .item = &text_item},
        {"files", FIELD_MAP, .item = &any_item},
        {"limits", FIELD_OBJECT, .fields = limits},
        {"tier", FIELD_WORD, FIELD_NULLABLE, .words = tiers, .standard = "\"restricted\""},
        {"detach", FIELD_BOOLEAN, .standard = "false"},
        {"timeout_ms", FIELD_INTEGER, .min = 1, .max = 604800000},
        {"pair", FIELD_INTEGER, .check = even},
        {"metadata", FIELD_ANY},
        {"pools", FIELD_ARRAY, .item = &pool_item, .standard = "[]"},
        {"name", FIELD_STRING, FIELD_NULLABLE, .min = 3, .max = 3},
        {"modules", FIELD_ARRAY, .max = 2, .item = &text_item, .words = autos},
        {NULL},
};

static struct cella_err err;

/* The message about a body; "" if it is fine. */
static const char *said_of(const char *text, size_t len)
{
        json_t *document = NULL;
        memset(&err, 0, sizeof err);
        int r = schema_parse(request, text, len, &document, &err);
        if (r == 0) {
                CHECK(document != NULL);
                json_decref(document);
                return "";
        }
        CHECK_INT(r, -EINVAL);
        CHECK_INT(err.kind, CELLA_INVALID_REQUEST);
        CHECK(document == NULL);
        return err.msg;
}

static const char *said(const char *text)
{
        return said_of(text, strlen(text));
}

TEST(a_good_request_passes)
{
        CHECK_STR(
                said("{\"runtime\":\"sh\",\"code\":\"echo\",\"command\":[\"a\"],\"env\":{\"A\":\"b\"},"
                     "\"limits\":{\"memory_bytes\":4194304,\"cpus\":0.01,\"cpu_time_ms\":null},\"tier\":null,"
                     "\"detach\":true,\"timeout_ms\":5,\"pair\":4,\"metadata\":{\"a\":[1,{}]},\"name\":"
                     "\"abc\"}"),
                "");
        CHECK_STR(said(" {\"runtime\":\"sh\", \"limits\":{\"cpus\":1024}} \n"), "");
}

TEST(missing_fields_are_named)
{
        CHECK_STR(said("{}"), "runtime is required");
        CHECK_STR(said(""), "runtime is required");
        CHECK_STR(said("{\"runtime\":\"sh\",\"pools\":[{\"runtime\":\"a\"},{}]}"),
                  "pools[1].runtime is required");
}

TEST(an_unknown_field_names_the_nearest)
{
        CHECK_STR(said("{\"runtime\":\"sh\",\"limits\":{\"memroy\":1}}"), "unknown field 'memroy' in limits");
        CHECK_STR(err.hint, "did you mean 'memory'?");
        CHECK_STR(said("{\"runtime\":\"sh\",\"cod\":\"\"}"), "unknown field 'cod'");
        CHECK_STR(err.hint, "did you mean 'code'?");
        CHECK_STR(said("{\"runtime\":\"sh\",\"limits\":{\"zzzzzzz\":1}}"),
                  "unknown field 'zzzzzzz' in limits");
        CHECK_STR(err.hint, "fields that it may have: memory_bytes, cpus, cpu_time_ms, memory");
        CHECK_STR(said("{\"\":1}"), "unknown field ''");
        CHECK_STR(said("{\"pools\":[{\"siez\":1}]}"), "unknown field 'siez' in pools[0]");
        CHECK_STR(err.hint, "did you mean 'size'?");
}

TEST(a_wrong_type_says_what_it_may_be)
{
        CHECK_STR(said("{\"runtime\":5}"), "runtime must be a string of 1 to 32 bytes");
        CHECK_STR(said("{\"code\":[]}"), "code must be a string");
        CHECK_STR(said("{\"code\":null}"), "code must be a string");
        CHECK_STR(said("{\"detach\":1}"), "detach must be true or false");
        CHECK_STR(said("{\"limits\":[]}"), "limits must be an object");
        CHECK_STR(said("{\"env\":\"A=b\"}"), "env must be an object of at most 3 entries");
        CHECK_STR(said("{\"files\":1}"), "files must be an object");
        CHECK_STR(said("{\"command\":\"ls\"}"), "command must be an array of 1 to 4 items");
        CHECK_STR(said("{\"command\":[\"ls\",1]}"), "command[1] must be a string of at most 16 bytes");
        CHECK_STR(said("{\"env\":{\"A\":1}}"), "env.A must be a string of at most 16 bytes");
        CHECK_STR(said("{\"env\":{\"\":1}}"), "env.'' must be a string of at most 16 bytes");
        CHECK_STR(said("{\"pools\":{}}"), "pools must be an array");
        CHECK_STR(said("{\"pools\":[1]}"), "pools[0] must be an object");
        CHECK_STR(said("{\"name\":1}"), "name must be a string of 3 bytes or null");
}

TEST(integers_are_whole_and_in_range)
{
        static const char range[] = "limits.memory_bytes must be an integer from 4194304 to 1099511627776";
        CHECK_STR(said("{\"limits\":{\"memory_bytes\":5}}"), range);
        CHECK_STR(said("{\"limits\":{\"memory_bytes\":4194304.0}}"), range);
        CHECK_STR(said("{\"limits\":{\"memory_bytes\":\"4M\"}}"), range);
        CHECK_STR(said("{\"limits\":{\"memory_bytes\":1099511627777}}"), range);
        CHECK_STR(said("{\"limits\":{\"memory_bytes\":-1}}"), range);
        CHECK_STR(said("{\"limits\":{\"memory_bytes\":null}}"), range);
        CHECK_STR(said("{\"limits\":{\"cpu_time_ms\":0}}"),
                  "limits.cpu_time_ms must be an integer from 1 to 1000 or null");
        CHECK_STR(said("{\"limits\":{\"memory\":0}}"), "limits.memory must be an integer of at least 1");
        CHECK_STR(said("{\"pair\":3}"), "pair must be even");
        CHECK_STR(said("{\"limits\":{\"memory\":99999999999999999999}}"),
                  "the body is not valid JSON: line 1, column 40: too big integer near "
                  "'99999999999999999999'");
}

TEST(numbers_are_in_range)
{
        static const char range[] = "limits.cpus must be a number from 0.01 to 1024";
        CHECK_STR(said("{\"limits\":{\"cpus\":0.001}}"), range);
        CHECK_STR(said("{\"limits\":{\"cpus\":1024.5}}"), range);
        CHECK_STR(said("{\"limits\":{\"cpus\":true}}"), range);
        CHECK_STR(said("{\"limits\":{\"cpus\":1e300}}"), range);
        CHECK_STR(said("{\"runtime\":\"sh\",\"limits\":{\"cpus\":1}}"), "");
}

TEST(lengths_are_in_range)
{
        CHECK_STR(said("{\"runtime\":\"\"}"), "runtime must be a string of 1 to 32 bytes");
        CHECK_STR(said("{\"command\":[]}"), "command must be an array of 1 to 4 items");
        CHECK_STR(said("{\"command\":[\"\",\"\",\"\",\"\",\"\"]}"),
                  "command must be an array of 1 to 4 items");
        CHECK_STR(said("{\"env\":{\"a\":\"\",\"b\":\"\",\"c\":\"\",\"d\":\"\"}}"),
                  "env must be an object of at most 3 entries");
        CHECK_STR(said("{\"env\":{\"a\":\"01234567890123456\"}}"),
                  "env.a must be a string of at most 16 bytes");
}

TEST(words_are_listed)
{
        CHECK_STR(said("{\"tier\":\"standart\"}"),
                  "tier must be one of 'restricted', 'standard', 'elevated' or null");
        CHECK_STR(err.hint, "did you mean 'standard'?");
        CHECK_STR(said("{\"tier\":3}"), "tier must be one of 'restricted', 'standard', 'elevated' or null");
        CHECK_STR(said("{\"tier\":\"standard\\u0000\"}"),
                  "tier must be one of 'restricted', 'standard', 'elevated' or null");
}

TEST(nul_is_allowed_in_code_only)
{
        CHECK_STR(said("{\"runtime\":\"sh\",\"code\":\"a\\u0000b\"}"), "");
        CHECK_STR(said("{\"runtime\":\"s\\u0000h\"}"), "runtime must not contain a NUL character");
        CHECK_STR(said("{\"env\":{\"A\":\"\\u0000\"}}"), "env.A must not contain a NUL character");
        json_t *document = NULL;
        static const char text[] = "{\"runtime\":\"sh\",\"code\":\"a\\u0000b\"}";
        CHECK_INT(schema_parse(request, text, sizeof text - 1, &document, NULL), 0);
        CHECK_INT(json_string_length(json_object_get(document, "code")), 3);
        json_decref(document);
        CHECK(strstr(said("{\"a\\u0000b\":1}"), "line 1, column") != NULL);
}

TEST(a_nul_byte_does_not_end_the_body)
{
        CHECK(strstr(said_of("{}\0{\"evil\":1}", 13), "not valid JSON") != NULL);
        CHECK(strstr(said_of("{\"a\":\"\0\"}", 9), "not valid JSON") != NULL);
        CHECK(strstr(said_of("\0{}", 3), "not valid JSON") != NULL);
}

TEST(the_body_must_be_an_object)
{
        CHECK_STR(said("[]"), "the body must be a JSON object");
        CHECK_STR(said("5"), "the body must be a JSON object");
        CHECK_STR(said("null"), "the body must be a JSON object");
        CHECK_STR(said("\"x\""), "the body must be a JSON object");
}

TEST(bad_json_is_placed)
{
        CHECK_STR(said("{\n  \"runtime\": sh\n}"),
                  "the body is not valid JSON: line 2, column 15: invalid token near 'sh'");
        CHECK_STR(said("{\"code\": \xc3\xa4}"),
                  "the body is not valid JSON: line 1, column 10: invalid token near '\xc3\xa4'");
        CHECK(strstr(said("{\"runtime\":\"sh\"} x"), "line 1, column 18") != NULL);
        CHECK(strstr(said("{\"runtime\":\"sh\",\"runtime\":\"sh\"}"), "duplicate object key") != NULL);
        CHECK(strstr(said("{\"code\":\"\xff\"}"), "unable to decode byte 0xff") != NULL);
        CHECK(strstr(said("{\"code\":\"\xed\xa0\x80\"}"), "unable to decode") != NULL);
        CHECK(strstr(said("{\"code\":\"\\ud800\"}"), "invalid Unicode") != NULL);
        CHECK(strstr(said("{\"code\":\"\\ud800\\u0041\"}"), "invalid Unicode") != NULL);
        CHECK(strstr(said("{\"code\":"), "line 1, column 8") != NULL);
        CHECK(strstr(said("{\"code\":NaN}"), "not valid JSON") != NULL);
        CHECK(strstr(said("{'code':1}"), "not valid JSON") != NULL);
        CHECK(strstr(said("{\"a\":1e999}"), "real number overflow") != NULL);
        CHECK(strstr(said_of("{}\0", 3), "not valid JSON") != NULL);
        CHECK(strstr(said(" "), "not valid JSON") != NULL);
}

static char *nested(unsigned depth, const char *before, const char *after)
{
        char *text = malloc(strlen(before) + strlen(after) + 2 * (size_t)depth + 1), *p = text;
        p += sprintf(p, "%s", before);
        memset(p, '[', depth);
        memset(p + depth, ']', depth);
        strcpy(p + 2 * (size_t)depth, after);
        return text;
}

TEST(depth_is_bounded)
{
        char *fits = nested(31, "{\"runtime\":\"sh\",\"metadata\":", "}");
        char *deep = nested(32, "{\"metadata\":", "}");
        char *bottomless = nested(1000000, "", "");
        CHECK_STR(said(fits), "");
        CHECK_STR(said(deep), "metadata is nested deeper than 32 levels");
        CHECK(strstr(said(bottomless), "maximum parsing depth reached") != NULL);
        free(fits);
        free(deep);
        free(bottomless);
}

static const struct field endless[] = {{"next", FIELD_OBJECT, .fields = endless}, {NULL}};

TEST(a_table_that_contains_itself_is_bounded)
{
        char text[4096] = "", *p = text;
        json_t *document = NULL;
        for (int i = 0; i < 200; i++)
                p += sprintf(p, "{\"next\":");
        p += sprintf(p, "{}");
        memset(p, '}', 200);
        p[200] = '\0';
        CHECK_INT(schema_parse(endless, text, strlen(text), &document, &err), -EINVAL);
        CHECK(strstr(err.msg, "is nested deeper than 32 levels") != NULL);
        CHECK(strstr(err.msg, "next.next.next") == err.msg);
        json_t *described = schema_describe(endless), *defaults = schema_defaults(endless);
        CHECK(described && defaults);
        json_decref(described);
        json_decref(defaults);
}

/* The message is quoted in JSON: it must be UTF-8 itself, and no wall of text. */
TEST(foreign_names_in_messages_are_cut_between_characters)
{
        for (size_t pad = 0; pad < 4; pad++) {
                char text[2000] = "{\"env\":{\"", *p = text + strlen(text);
                memset(p, 'x', pad);
                p += pad;
                for (int i = 0; i < 400; i++)
                        p += sprintf(p, "\xe2\x82\xac");
                sprintf(p, "\":1}}");
                const char *message = said(text);
                json_t *quoted = json_stringn(message, strlen(message));
                CHECK(quoted != NULL);
                CHECK(strlen(message) < 200);
                CHECK(strstr(message, "... must be a string of at most 16 bytes") != NULL);
                json_decref(quoted);
        }
        CHECK_STR(said("{\"a\\nb\\u001b[31m\":1}"), "unknown field 'a?b?[31m'");
        const char *message = said("{\"code\": \xe2\x82\xac}");
        json_t *quoted = json_stringn(message, strlen(message));
        CHECK(quoted != NULL);
        json_decref(quoted);
}

TEST(errors_in_a_parsed_document_have_its_path)
{
        json_t *document = json_pack("{s:i}", "memroy", 1), *list = json_array();
        CHECK_INT(schema_check(limits, document, "settings.limits", &err), -EINVAL);
        CHECK_STR(err.msg, "unknown field 'memroy' in settings.limits");
        json_object_clear(document);
        json_object_set_new(document, "cpus", json_integer(0));
        CHECK_INT(schema_check(limits, document, "settings.limits", &err), -EINVAL);
        CHECK_STR(err.msg, "settings.limits.cpus must be a number from 0.01 to 1024");
        CHECK_INT(schema_check(limits, list, "limits", &err), -EINVAL);
        CHECK_STR(err.msg, "limits must be an object");
        CHECK_INT(schema_check(limits, list, "", NULL), -EINVAL);
        json_decref(document);
        json_decref(list);
}

static void check_json(json_t *is, const char *should)
{
        char *text = json_dumps(is, JSON_COMPACT | JSON_SORT_KEYS);
        CHECK_STR(text, should);
        free(text);
        json_decref(is);
}

TEST(defaults_are_those_of_the_table)
{
        check_json(
                schema_defaults(request),
                "{\"detach\":false,\"limits\":{\"cpu_time_ms\":null,\"cpus\":1.0,\"memory_bytes\":536870912},"
                "\"pools\":[],\"tier\":\"restricted\"}");
}

TEST(a_document_is_filled_with_defaults)
{
        json_t *document = json_loads(
                "{\"limits\":{\"cpus\":2},\"tier\":null,\"pools\":[{\"runtime\":\"sh\"}]}", 0, NULL);
        check_json(
                schema_fill(request, document),
                "{\"detach\":false,\"limits\":{\"cpu_time_ms\":null,\"cpus\":2,\"memory_bytes\":536870912},"
                "\"pools\":[{\"runtime\":\"sh\",\"size\":4}],\"tier\":null}");
        check_json(document, "{\"limits\":{\"cpus\":2},\"pools\":[{\"runtime\":\"sh\"}],\"tier\":null}");
}

/* The examples of RFC 7386, appendix A. */
TEST(merging_is_rfc_7386)
{
        static const char *const cases[][3] = {
                {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
                {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
                {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
                {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
                {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
                {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
                {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
                {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
                {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
                {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
                {"{\"e\":null}", "{\"a\":1}", "{\"a\":1,\"e\":null}"},
                {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
                {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                json_t *base = json_loads(cases[i][0], 0, NULL), *patch = json_loads(cases[i][1], 0, NULL);
                check_json(schema_merge(base, patch), cases[i][2]);
                check_json(base, cases[i][0]); /* untouched */
                json_decref(patch);
        }
}

TEST(the_table_describes_itself)
{
        json_t *schema = schema_describe(request), *properties = json_object_get(schema, "properties");
        json_t *in_limits = json_object_get(json_object_get(properties, "limits"), "properties");
        check_json(json_incref(json_object_get(schema, "required")), "[\"runtime\"]");
        CHECK(json_is_false(json_object_get(schema, "additionalProperties")));
        check_json(json_incref(json_object_get(properties, "runtime")),
                   "{\"description\":\"How to run it.\",\"maxLength\":32,\"minLength\":1,\"pattern\":"
                   "\"^[^\\\\u0000]*$\",\"type\":\"string\"}");
        check_json(json_incref(json_object_get(properties, "tier")),
                   "{\"default\":\"restricted\",\"enum\":[\"restricted\",\"standard\",\"elevated\",null],"
                   "\"type\":[\"string\",\"null\"]}");
        check_json(json_incref(json_object_get(properties, "env")),
                   "{\"additionalProperties\":{\"maxLength\":16,\"pattern\":\"^[^\\\\u0000]*$\",\"type\":"
                   "\"string\"},\"maxProperties\":3,\"type\":\"object\"}");
        check_json(json_incref(json_object_get(properties, "pools")),
                   "{\"default\":[],\"items\":{\"additionalProperties\":false,\"properties\":{\"runtime\":{"
                   "\"type\":\"string\"},\"size\":{\"default\":4,\"maximum\":64,\"minimum\":0,\"type\":"
                   "\"integer\"}},\"required\":[\"runtime\"],\"type\":\"object\"},\"type\":\"array\"}");
        check_json(json_incref(json_object_get(properties, "metadata")), "{}");
        check_json(json_incref(json_object_get(in_limits, "cpus")),
                   "{\"default\":1.0,\"description\":\"CPU "
                   "cores.\",\"maximum\":1024.0,\"minimum\":0.01,\"type\":"
                   "\"number\"}");
        check_json(json_incref(json_object_get(in_limits, "cpu_time_ms")),
                   "{\"default\":null,\"maximum\":1000,\"minimum\":1,\"type\":[\"integer\",\"null\"]}");
        check_json(json_incref(json_object_get(in_limits, "memory")), "{\"minimum\":1,\"type\":\"integer\"}");
        json_decref(schema);
}

static double now_us(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

TEST(an_array_may_be_a_word)
{
        const char *expected = "modules must be an array of at most 2 items or 'auto', 'none'";
        CHECK_STR(said("{\"runtime\":\"x\",\"modules\":\"auto\"}"), "");
        CHECK_STR(said("{\"runtime\":\"x\",\"modules\":[\"auto\"]}"), "");
        CHECK_STR(said("{\"runtime\":\"x\",\"modules\":\"autos\"}"), expected);
        CHECK_STR(err.hint, "did you mean 'auto'?");
        CHECK_STR(said("{\"runtime\":\"x\",\"modules\":[\"a\",\"b\",\"c\"]}"), expected);
        CHECK_STR(said("{\"runtime\":\"x\",\"modules\":5}"), expected);
        json_t *schema = schema_describe(request);
        check_json(json_incref(json_object_get(json_object_get(schema, "properties"), "modules")),
                   "{\"oneOf\":[{\"enum\":[\"auto\",\"none\"],\"type\":\"string\"},{\"items\":{\"maxLength\":"
                   "16,\"pattern\":\"^[^\\\\u0000]*$\",\"type\":\"string\"},\"maxItems\":2,\"type\":"
                   "\"array\"}]}");
        json_decref(schema);
}

TEST(a_typical_request_is_checked_in_microseconds)
{
        json_t *document = json_loads(
                "{\"runtime\":\"python3\",\"code\":\"print(6*7)\",\"env\":{\"A\":\"b\",\"C\":\"d\"},"
                "\"limits\":{\"memory_bytes\":536870912,\"cpus\":1.5},\"tier\":\"standard\",\"timeout_ms\":"
                "5000,"
                "\"files\":{\"a.txt\":\"hello\"}}",
                0, NULL);
        enum { N = 20000 };
        double best = 1e9;
        for (int round = 0; round < 5; round++) {
                double begun = now_us();
                for (int i = 0; i < N; i++)
                        CHECK_INT(schema_check(request, document, "", NULL), 0);
                double each = (now_us() - begun) / N;
                best = each < best ? each : best;
        }
        printf("   %.2f us\n", best);
        CHECK(best < 100); /* a rough bound: quadratic work would exceed it, and valgrind does not */
        json_decref(document);
}
