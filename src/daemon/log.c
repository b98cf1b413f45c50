#include "daemon/log.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"

static unsigned long dropped;

void log_line(const char *level, const char *message, const char *detail_name, const char *detail)
{
        char *text = NULL, when[40], time_text[64];
        size_t len = 0;
        struct timespec ts;
        struct tm tm;
        struct pollfd ready = {STDERR_FILENO, POLLOUT, 0};
        struct json j = {.out = open_memstream(&text, &len)};
        if (!j.out)
                return;
        clock_gettime(CLOCK_REALTIME, &ts);
        gmtime_r(&ts.tv_sec, &tm);
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(time_text, sizeof time_text, "%s.%03ldZ", when, ts.tv_nsec / 1000000);
        json_put_open(&j, NULL, '{');
        json_put_string(&j, "time", time_text);
        json_put_string(&j, "level", level);
        json_put_string(&j, "process", "server");
        json_put_string(&j, "message", message);
        if (detail_name)
                json_put_string(&j, detail_name, detail ? detail : "");
        if (dropped)
                json_put_number(&j, "lines_dropped", dropped);
        json_put_close(&j, '}');
        putc('\n', j.out);
        fclose(j.out);
        if (poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) && write(STDERR_FILENO, text, len) > 0)
                dropped = 0;
        else
                dropped++;
        free(text);
}
