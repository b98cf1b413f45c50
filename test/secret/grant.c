/* test/secret/grant.c -- handles in requests, and what an execution gets for them. */
#include "secret/grant.h"

#include "../unit/directory.h"
#include "secret/handle.h"

static struct cella_err err;

TEST(both_forms_of_a_handle_give_the_name)
{
        static const struct {
                const char *text, *name;
        } table[] = {
                {"{{secret:api_key}}", "api_key"},
                {"api_key", "api_key"},
                {"{{secret:db.password-2}}", "db.password-2"},
                {"_", "_"},
                {"a234567890123456789012345678901234567890123456789012345678901234",
                 "a234567890123456789012345678901234567890123456789012345678901234"},
                {"a2345678901234567890123456789012345678901234567890123456789012345", NULL},
                {"", NULL},
                {"{{secret:}}", NULL},
                {"{{secret:a}", NULL},
                {"{secret:a}", NULL},
                {"{{secret: a}}", NULL},
                {"{{secret:a}} ", NULL},
                {"{{secret:a}}{{secret:b}}", NULL},
                {"{{secret:{{secret:a}}}}", NULL},
                {"{{Secret:a}}", NULL},
                {"{{secrets:a}}", NULL},
                {"{{secret:a/b}}", NULL},
                {"sk-1234 with spaces", NULL},
                {"1abc", NULL},
                {"}}", NULL},
                {"{{secret:", NULL},
        };
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
                char name[SECRET_NAME_SIZE] = "untouched";
                int r = secret_handle_parse(table[i].text, strlen(table[i].text), name);
                CHECK_INT(r, table[i].name ? 0 : -EINVAL);
                CHECK_STR(name, table[i].name ? table[i].name : "untouched");
        }
        char name[SECRET_NAME_SIZE];
        CHECK_INT(secret_handle_parse("a\0b", 3, name), -EINVAL);
}

TEST(errors_name_the_field)
{
        static const struct {
                const char *json, *message, *hint;
        } table[] = {
                {"{}", NULL, NULL},
                {"{\"API_KEY\": \"{{secret:a}}\", \"_B2\": \"b\"}", NULL, NULL},
                {"[]", "secrets must be an object", "{\"VARIABLE\": \"{{secret:name}}\"}"},
                {"{\"A=B\": \"a\"}", "secrets: 'A=B' cannot be the name of a variable", "a variable is"},
                {"{\"\": \"a\"}", "secrets: '' cannot be the name of a variable", "a variable is"},
                {"{\"1A\": \"a\"}", "secrets: '1A' cannot be the name of a variable", "a variable is"},
                {"{\"A-B\": \"a\"}", "secrets: 'A-B' cannot be the name of a variable", "a variable is"},
                {"{\"A\": 1}", "secrets.A must be a string", "{\"A\": \"{{secret:name}}\"}"},
                {"{\"A\": null}", "secrets.A must be a string", ""},
                {"{\"A\": \"\"}", "secrets.A must be {{secret:name}} or the name of a secret",
                 "cella secret set"},
                {"{\"A\": \"hunter2 is my pass\"}",
                 "secrets.A must be {{secret:name}} or the name of a secret", ""},
                {"{\"A\": \"a\\u0000\"}", "secrets.A must be {{secret:name}} or the name of a secret", ""},
        };
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
                json_t *document = json_loads(table[i].json, JSON_ALLOW_NUL, NULL);
                memset(&err, 0, sizeof err);
                int r = secret_handles_check(document, "secrets", &err);
                CHECK_INT(r < 0, table[i].message != NULL);
                CHECK_STR(err.msg, table[i].message ? table[i].message : "");
                CHECK(!strstr(err.msg, "hunter2") && !strstr(err.hint, "hunter2")); /* it may be the value */
                if (table[i].hint && !strstr(err.hint, table[i].hint))
                        CHECK_STR(err.hint, table[i].hint);
                if (r < 0)
                        CHECK_INT(err.kind, CELLA_INVALID_REQUEST);
                json_decref(document);
        }
}

TEST(many_handles_are_refused)
{
        json_auto_t *many = json_object();
        char name[16];
        for (int i = 0; i <= SECRET_HANDLES_MAX; i++) {
                CHECK_INT(secret_handles_check(many, "secrets", &err), 0);
                snprintf(name, sizeof name, "V%d", i);
                json_object_set_new(many, name, json_string("a"));
        }
        CHECK_INT(secret_handles_check(many, "secrets", &err), -E2BIG);
}

TEST(a_variable_in_env_and_secrets_is_refused)
{
        json_t *handles = json_pack("{s:s, s:s}", "A", "a", "B", "b"), *env = json_pack("{s:s}", "C", "c");
        CHECK_INT(secret_handles_check_env(handles, env, "secrets", &err), 0);
        CHECK_INT(secret_handles_check_env(handles, NULL, "secrets", &err), 0);
        json_object_set_new(env, "B", json_string("b"));
        CHECK_INT(secret_handles_check_env(handles, env, "secrets", &err), -EEXIST);
        CHECK_STR(err.msg, "secrets.B is also in env");
        json_decref(handles);
        json_decref(env);
}

TEST(the_list_of_a_key_is_checked_and_searched)
{
        static const struct {
                const char *json;
                bool valid, has_a;
        } table[] = {
                {"[]", true, false},         {"[\"a\", \"b\"]", true, true}, {"[\"b\", \"aa\"]", true, false},
                {"[\"*\"]", true, true},     {"[\"a*\"]", false, false},     {"[1]", false, false},
                {"{\"a\": 1}", false, false}};
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
                json_t *list = json_loads(table[i].json, 0, NULL);
                CHECK_INT(secret_list_check(list, "secrets", &err) == 0, table[i].valid);
                CHECK_INT(secret_list_has(list, "a"), table[i].has_a);
                json_decref(list);
        }
        CHECK(!secret_list_has(NULL, "a"));
}

/* ---- grants ---- */

static struct secret_store *fresh(void)
{
        struct secret_store *store = NULL;
        if (secret_store_open(directory, NULL, &store, &err) < 0)
                exit(EXIT_FAILURE);
        CHECK_INT(secret_store_set(store, "token", "hunter2", 7, NULL, &err), 0);
        CHECK_INT(secret_store_set(store, "pem", "-----BEGIN\nMIIE\n", 16, NULL, &err), 0);
        return store;
}

TEST(an_execution_gets_variables_and_a_mask)
{
        AUTO(secret_store_close) struct secret_store *store = fresh();
        AUTO(secret_grant_free) struct secret_grant *grant = NULL;
        json_auto_t *handles = json_pack("{s:s, s:s}", "TOKEN", "{{secret:token}}", "PEM", "pem");
        CHECK_INT(secret_grant_new(store, handles, NULL, "secrets", &grant, &err), 0);
        CHECK_INT(grant->n, 2);
        bool token = false, pem = false;
        for (size_t i = 0; i < 2; i++) {
                token |= !strcmp(grant->env[i], "TOKEN=hunter2");
                pem |= !strcmp(grant->env[i], "PEM=-----BEGIN\nMIIE\n");
        }
        CHECK(token && pem);
        CHECK(grant->env[2] == NULL);
        char text[] = "hunter2 and -----BEGIN\nMIIE\n";
        mask_string(secret_grant_mask(grant), text);
        CHECK_STR(text, "*** and ***\n");
}

TEST(a_request_without_secrets_has_no_grant)
{
        struct secret_grant *grant = (struct secret_grant *)&err;
        json_auto_t *empty = json_object();
        CHECK_INT(secret_grant_new(NULL, NULL, NULL, "secrets", &grant, &err), 0);
        CHECK(grant == NULL && secret_grant_mask(grant) == NULL);
        CHECK_INT(secret_grant_new(NULL, empty, NULL, "secrets", &grant, &err), 0);
        CHECK(grant == NULL);
}

TEST(a_grant_has_all_secrets_or_fails)
{
        AUTO(secret_store_close) struct secret_store *store = fresh();
        struct secret_grant *grant = NULL;
        json_auto_t *handles = json_pack("{s:s, s:s}", "A", "token", "B", "{{secret:nothing}}");
        json_t *allowed = json_pack("[s, s]", "pem", "nothing"), *all = json_pack("[s]", "*");
        CHECK_INT(secret_grant_new(store, handles, NULL, "secrets", &grant, &err), -ENOENT);
        CHECK_INT(err.kind, CELLA_NOT_FOUND);
        CHECK_STR(err.msg, "secrets.B: no secret 'nothing'");
        CHECK_STR(err.hint, "create it with 'cella secret set nothing'");
        /* For a key that may use neither, an existing and a missing secret give the same error. */
        CHECK_INT(secret_grant_new(store, handles, allowed, "secrets", &grant, &err), -EACCES);
        CHECK_INT(err.kind, CELLA_ACCESS_DENIED);
        CHECK_STR(err.msg, "access denied: secret 'token' (secrets.A)");
        json_object_set_new(handles, "B", json_string("pem"));
        json_object_del(handles, "A");
        CHECK_INT(secret_grant_new(store, handles, allowed, "secrets", &grant, &err), 0);
        grant = secret_grant_free(grant);
        CHECK_INT(secret_grant_new(store, handles, all, "secrets", &grant, &err), 0);
        grant = secret_grant_free(grant);
        json_array_clear(all);
        CHECK_INT(secret_grant_new(store, handles, all, "secrets", &grant, &err), -EACCES);
        CHECK(grant == NULL);
        json_decref(allowed);
        json_decref(all);
}
