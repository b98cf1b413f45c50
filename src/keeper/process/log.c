#include "keeper/process/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "sys/file.h"

static void put_time(struct json *j)
{
        struct timespec now;
        struct tm tm;
        char date[32], text[48];
        clock_gettime(CLOCK_REALTIME, &now);
        gmtime_r(&now.tv_sec, &tm);
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(text, sizeof text, "%s.%03dZ", date, (int)(now.tv_nsec / 1000000));
        json_put_string(j, "time", text);
}

__attribute__((format(printf, 3, 0))) static void line(const char *level, const char *sandbox,
                                                       const char *format, va_list values)
{
        char message[512];
        char *text = NULL;
        size_t len = 0;
        struct pollfd fd = {STDERR_FILENO, POLLOUT, 0};
        vsnprintf(message, sizeof message, format, values);
        FILE *out = open_memstream(&text, &len);
        if (!out)
                return;
        struct json j = {.out = out};
        json_put_open(&j, NULL, '{');
        put_time(&j);
        json_put_string(&j, "level", level);
        json_put_string(&j, "process", "keeper");
        json_put_string(&j, "message", message);
        if (sandbox)
                json_put_string(&j, "sandbox", sandbox);
        json_put_close(&j, '}');
        putc('\n', out);
        if (fclose(out) == 0 && poll(&fd, 1, 0) == 1 && (fd.revents & POLLOUT))
                sys_write(STDERR_FILENO, text, len);
        free(text);
}

void log_info(const char *sandbox, const char *format, ...)
{
        va_list values;
        va_start(values, format);
        line("info", sandbox, format, values);
        va_end(values);
}

void log_error(const char *sandbox, const char *format, ...)
{
        va_list values;
        va_start(values, format);
        line("error", sandbox, format, values);
        va_end(values);
}
