#include "core/context/driver_frames.h"

#include "test.h"

#define ALL (DRIVER_MAY(DRIVER_WORDS) - 1)

static int take(struct driver_frames *f, unsigned may, const char *text, const char **ret_why)
{
        size_t len = strlen(text);
        return driver_frames_take(f, may, &text, &len, ret_why);
}

TEST(frames_come_in_any_pieces)
{
        static const char text[] = "ready 0\nresult 5\nhello"
                                   "done 2\n{}";
        for (size_t piece = 1; piece < sizeof text; piece++) {
                struct driver_frames f = {0};
                unsigned n = 0;
                for (size_t at = 0; at < sizeof text - 1; at += piece) {
                        const char *data = text + at, *why = NULL;
                        size_t len = sizeof text - 1 - at < piece ? sizeof text - 1 - at : piece;
                        while (len > 0) {
                                int r = driver_frames_take(&f, ALL, &data, &len, &why);
                                CHECK(r >= 0);
                                if (r == 1 && n++ == 1)
                                        CHECK(f.word == DRIVER_RESULT && f.want == 5 &&
                                              !memcmp(f.body, "hello", 5));
                        }
                }
                CHECK_INT(n, 3);
                driver_frames_done(&f);
        }
}

TEST(invalid_frames_are_refused)
{
        static const char *const bad[] = {
                "\n",
                " \n",
                "result\n",
                "result \n",
                "result  1\n",
                "result 1 \n",
                "result -1\n",
                "result +1\n",
                "result 0x1\n",
                "result 1\r\n",
                "RESULT 1\n",
                "results 1\n",
                "resul 1\n",
                "run 1\n",
                "result 8388609\n",
                "done 4097\n",
                "ready 1\n",
                "error 4194305\n",
                "result 99999999999999999999999\n",
                " result 1\n",
                "done 1.\n",
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                struct driver_frames f = {0};
                const char *why = NULL;
                if (take(&f, ALL, bad[i], &why) != -EPROTO || !why)
                        test_fail(bad[i], (int)i);
                driver_frames_done(&f);
        }
}

TEST(unexpected_messages_are_refused_at_their_first_line)
{
        struct driver_frames f = {0};
        const char *why = NULL;
        CHECK_INT(take(&f, DRIVER_MAY(DRIVER_DONE), "result 5\n", &why), -EPROTO);
        CHECK(!f.body);
        driver_frames_done(&f);
}

TEST(memory_grows_with_the_received_bytes_only)
{
        struct driver_frames f = {0};
        const char *why = NULL;
        CHECK_INT(take(&f, ALL, "result 8000000\nabc", &why), 0);
        CHECK(f.size < 100);
        driver_frames_done(&f);
}

static const char *shown(const char *text, int (*read)(const char *, size_t, char **, size_t *))
{
        static char last[400];
        char *made = NULL;
        size_t len = 0;
        if (read(text, strlen(text), &made, &len) < 0)
                return "refused";
        snprintf(last, sizeof last, "%s", made);
        free(made);
        return last;
}

TEST(results_are_written_anew)
{
        CHECK_STR(shown("{ \"value\":1,\"x\":[1],\n\"data\":\"\\u00e4\\n\", \"mime\":\"a/b\",\"main\":true}",
                        driver_read_result),
                  "{\"mime\": \"a/b\", \"data\": \"\xc3\xa4\\n\", \"main\": true, \"value\": 1}");
        CHECK_STR(shown("{\"mime\":\"a/b\",\"data\":\"\"}", driver_read_result),
                  "{\"mime\": \"a/b\", \"data\": \"\", \"main\": false, \"value\": null}");
        static const char *const bad[] = {"",
                                          "{}",
                                          "[]",
                                          "{\"mime\":\"a/b\"}",
                                          "{\"mime\":\"\",\"data\":\"\"}",
                                          "{\"mime\":\"a b\",\"data\":\"\"}",
                                          "{\"mime\":\"a/b\",\"data\":5}",
                                          "{\"mime\":\"a/b\",\"data\":\"\xff\"}",
                                          "{\"mime\":\"a/b\",\"data\":\"\",\"value\":-1}",
                                          "{\"mime\":\"a/b\",\"data\":\"\"} x"};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
                CHECK_STR(shown(bad[i], driver_read_result), "refused");
}

TEST(errors_and_ends_of_runs_are_read)
{
        enum driver_status status = DRIVER_OK;
        int code = -1;
        char exited[] = "{\"status\":\"exit\",\"exit_code\":259}", none[] = "{\"status\":\"fine\"}";
        CHECK_STR(shown("{\"name\":\"E\",\"message\":\"\\u0000\",\"traceback\":\"\"}", driver_read_error),
                  "{\"name\": \"E\", \"message\": \"\\u0000\", \"traceback\": \"\"}");
        CHECK_STR(shown("{\"name\":\"E\",\"message\":\"m\"}", driver_read_error), "refused");
        CHECK_INT(driver_read_done(exited, strlen(exited), &status, &code), 0);
        CHECK(status == DRIVER_EXIT && code == 3);
        CHECK_INT(driver_read_done(none, strlen(none), &status, &code), -EPROTO);
}
