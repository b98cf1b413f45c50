#include "cli/image/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"

#define DRAW_US 100000
#define RATE_US 500000
#define WIDTH_STANDARD 80
#define WIDTH_MAX 200
#define BAR_MAX 40
#define BAR_MIN 8 /* no bar in less space */
#define LINE_SIZE (WIDTH_MAX + 1)

void progress_size(uint64_t bytes, char *ret, size_t size)
{
        static const char units[] = "BKMGTP";
        double value = (double)bytes;
        unsigned unit = 0;
        while (value >= 1000 && unit + 2 < sizeof units) {
                value /= 1024;
                unit++;
        }
        snprintf(ret, size, unit && value < 100 ? "%.1f%c" : "%.0f%c", value, units[unit]);
}

void progress_init(struct progress *p)
{
        *p = (struct progress){.draws = isatty(STDERR_FILENO)};
}

static const char *short_name(const char *layer)
{
        static char name[16];
        const char *colon = strchr(layer, ':');
        snprintf(name, sizeof name, "%.12s", colon ? colon + 1 : *layer ? layer : "archive");
        return name;
}

/* ---- plain lines ---- */

static void progress_say(const struct progress_layer *l, const char *what)
{
        char size[16] = "";
        if (!cli_may_note())
                return;
        if (l->total > 0)
                progress_size(l->total, size, sizeof size);
        fprintf(stderr, "%s: %s%s%s\n", short_name(l->name), what, *size ? " " : "", size);
}

/* ---- bars ---- */

static unsigned screen(unsigned *ret_rows)
{
        struct winsize w = {0};
        ioctl(STDERR_FILENO, TIOCGWINSZ, &w);
        *ret_rows = w.ws_row > 2 ? w.ws_row : 24;
        return w.ws_col == 0 ? WIDTH_STANDARD : w.ws_col > WIDTH_MAX ? WIDTH_MAX : w.ws_col;
}

/* Moves to the first line: the terminal may have wrapped the lines again since they were drawn. */
static void go_back(struct progress *p, unsigned width)
{
        unsigned rows = 0;
        for (unsigned i = 0; i < p->n_lines; i++)
                rows += p->lengths[i] > width ? (p->lengths[i] + width - 1) / width : 1;
        if (rows > 0)
                fprintf(stderr, "\033[%uA\r\033[J", rows);
        p->n_lines = 0;
}

static void put_line(struct progress *p, const char *line, unsigned width)
{
        unsigned len = (unsigned)strlen(line);
        if (len >= width) /* avoid the last column, which wraps */
                len = width > 1 ? width - 1 : 1;
        fprintf(stderr, "%.*s\n", (int)len, line);
        if (p->n_lines < PROGRESS_LAYERS_MAX + 1)
                p->lengths[p->n_lines++] = len;
}

static void write_bar(char *ret, size_t size, uint64_t done, uint64_t total, unsigned cells)
{
        unsigned full = total > 0 && done < total ? (unsigned)((double)done / (double)total * cells) : cells;
        if (total == 0)
                full = 0;
        size_t at = 0;
        ret[at++] = '[';
        for (unsigned i = 0; i < cells && at + 2 < size; i++)
                ret[at++] = i < full ? '#' : '.';
        ret[at++] = ']';
        ret[at] = '\0';
}

static const char *phase_word(const struct progress_layer *l)
{
        return l->phase == IMAGER_UNPACK ? l->over ? "unpacked" : "unpacking"
               : l->over                 ? "downloaded"
                                         : "downloading";
}

static void draw_layer(struct progress *p, const struct progress_layer *l, unsigned width)
{
        char line[LINE_SIZE + 64], bar[BAR_MAX + 8] = "", done[16], total[16] = "?";
        const char *what = phase_word(l);
        const unsigned around = 12 + 2 + 11 + 2 + 2 + 15; /* name, phase, brackets, sizes */
        unsigned cells = width > around + BAR_MIN ? width - around : 0;
        progress_size(l->done, done, sizeof done);
        if (l->total > 0)
                progress_size(l->total, total, sizeof total);
        if (cells >= BAR_MIN)
                write_bar(bar, sizeof bar, l->over ? 1 : l->done, l->over ? 1 : l->total,
                          cells > BAR_MAX ? BAR_MAX : cells);
        unsigned percent = l->over || l->total == 0 ? (l->over ? 100 : 0)
                                                    : (unsigned)((double)l->done * 100 / (double)l->total);
        if (width < around) /* the most important part only */
                snprintf(line, sizeof line, "%3u%% %.*s %s", percent > 100 ? 100 : percent,
                         width < 28 ? 6 : 12, short_name(l->name), what);
        else
                snprintf(line, sizeof line, "%-12s  %-11s  %s%s%s/%s", short_name(l->name), what, bar,
                         *bar ? "  " : "", done, total);
        put_line(p, line, width);
}

static void progress_measure(struct progress *p, uint64_t bytes, int64_t now)
{
        double seconds = (double)(now - p->rate_us) / 1e6;
        if (p->rate_us && now - p->rate_us < RATE_US)
                return;
        if (p->rate_us && bytes >= p->rate_bytes) {
                double rate = (double)(bytes - p->rate_bytes) / seconds;
                p->rate = p->rate > 0 ? p->rate * 0.7 + rate * 0.3 : rate;
        }
        p->rate_us = now;
        p->rate_bytes = bytes;
}

/* Shows the remaining bytes of the known layers; more layers may follow. */
static void draw_sum(struct progress *p, unsigned width, int64_t now)
{
        char line[LINE_SIZE + 64], done[16], all[16], rate[16], left[40] = "";
        uint64_t downloaded = 0, total = 0;
        for (unsigned i = 0; i < p->n; i++) {
                const struct progress_layer *l = &p->layers[i];
                downloaded += l->downloaded;
                total += l->phase == IMAGER_DOWNLOAD && l->total > l->downloaded ? l->total : l->downloaded;
        }
        progress_measure(p, downloaded, now);
        progress_size(downloaded, done, sizeof done);
        progress_size(total, all, sizeof all);
        progress_size((uint64_t)p->rate, rate, sizeof rate);
        if (total > downloaded && p->rate >= 1) {
                uint64_t s = (uint64_t)((double)(total - downloaded) / p->rate);
                snprintf(left, sizeof left, ", %llu:%02llu left", (unsigned long long)s / 60,
                         (unsigned long long)s % 60);
        }
        if (p->step[0])
                snprintf(line, sizeof line, "%s", p->step);
        else if (total > downloaded)
                snprintf(line, sizeof line, "%s of %s, %s/s%s", done, all, rate, left);
        else
                snprintf(line, sizeof line, "unpacking");
        put_line(p, line, width);
}

static void draw(struct progress *p, bool now_at_once)
{
        unsigned rows, width = screen(&rows), shown = 0, unfinished = 0;
        int64_t now = clock_us();
        if ((!now_at_once && now - p->drawn_us < DRAW_US) || !cli_may_note())
                return;
        p->drawn_us = now;
        go_back(p, width);
        for (unsigned i = 0; i < p->n; i++)
                unfinished += !p->layers[i].over;
        /* All layers if they fit; otherwise the active ones, as many as fit. */
        bool all = p->n + 2 <= rows;
        for (unsigned i = 0; i < p->n && shown + 2 < rows; i++)
                if (all || !p->layers[i].over || unfinished == 0) {
                        draw_layer(p, &p->layers[i], width);
                        shown++;
                }
        draw_sum(p, width, now);
        fflush(stderr);
}

/* ---- events ---- */

static struct progress_layer *progress_find(struct progress *p, const char *name)
{
        for (unsigned i = 0; i < p->n; i++)
                if (!strcmp(p->layers[i].name, name))
                        return &p->layers[i];
        if (p->n == PROGRESS_LAYERS_MAX)
                return NULL;
        struct progress_layer *l = &p->layers[p->n++];
        *l = (struct progress_layer){0};
        memcpy(l->name, name, strlen(name) + 1);
        return l;
}

static void progress_take(struct progress *p, const struct imager_event *e)
{
        unsigned known = p->n;
        struct progress_layer *l = progress_find(p, e->layer);
        if (!l || (l->over && l->phase == e->phase))
                return;
        bool begins = known != p->n || l->phase != e->phase;
        l->phase = e->phase;
        l->done = e->done;
        l->total = e->total;
        l->over = e->total > 0 && e->done >= e->total;
        if (e->phase == IMAGER_DOWNLOAD && e->done > l->downloaded)
                l->downloaded = e->done;
        if (p->draws)
                return;
        if (begins)
                progress_say(l, e->phase == IMAGER_UNPACK ? "unpacking" : "downloading");
        if (l->over)
                progress_say(l, phase_word(l));
}

void progress_event(void *progress, const struct imager_event *e)
{
        struct progress *p = progress;
        if (e)
                progress_take(p, e);
        if (p->draws && (p->n > 0 || p->step[0]))
                draw(p, false);
}

void progress_step(struct progress *p, const char *text)
{
        snprintf(p->step, sizeof p->step, "%s", text);
        if (p->draws)
                draw(p, true);
        else if (*text && cli_may_note())
                fprintf(stderr, "%s\n", text);
}

void progress_done(struct progress *p, bool good)
{
        unsigned rows;
        if (p->draws && p->n_lines > 0 && cli_may_note()) {
                go_back(p, screen(&rows));
                fflush(stderr);
        }
        for (unsigned i = 0; i < p->n && good && !p->draws; i++)
                if (!p->layers[i].over) {
                        p->layers[i].over = true;
                        progress_say(&p->layers[i], phase_word(&p->layers[i]));
                }
        p->n = 0;
        p->step[0] = '\0';
}
