/* front/mcp/exchange.c -- sends the messages of a POST.
 *
 * If the answer is available soon and is the only message, it is sent as a JSON object.  If other messages
 * come before it, or it takes longer, the answer is a stream of events.  In a session events are numbered and
 * kept, so that a client that has lost its connection can resume (GET, Last-Event-ID).  Therefore a request
 * in a session lives for some time after its client has disconnected; without a session it is cancelled at
 * once.
 *
 * A batch, which only one old revision has, is answered as a whole. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "front/mcp/mcp.h"
#include "front/sse.h"

#define TICK_MS 250
#define SOON_US 250000      /* an answer that takes longer becomes a stream */
#define BACK_US 60000000    /* a client that does not reconnect within this time loses its request */
#define KEEP_US 30000000    /* the end of a stream is kept for this time */
#define RETRY_MS 500        /* delay before a reconnection */
#define EVENTS_MAX 128      /* maximum number of kept events of one stream; */
#define EVENTS_BYTES 262144 /* maximum size of those before the answer */
#define KEPT_BYTES (64u * 1024 * 1024)

struct event {
        char *text;
        size_t len;
        uint64_t number;
};

struct exchange {
        struct list link;
        struct mcp *mcp;
        struct mcp_session *session; /* NULL: none */
        struct call *call;           /* NULL: its client is disconnected, or has the answer */
        struct sse sse;
        struct list requests; /* struct mcp_request, by sibling */
        unsigned left;        /* missing answers */
        bool batch, takes_events, streams, ended;
        int64_t begun_us, left_us, ended_us;
        char *answers; /* the available answers of a batch */
        size_t answers_len;
        char name[ID_SIZE]; /* of the stream; "": it cannot be resumed */
        uint64_t n_events;
        struct event events[EVENTS_MAX];
        unsigned n_kept;
        size_t kept_bytes;
};

/* ---- events that are kept ---- */

static void drop_event(struct exchange *x)
{
        x->kept_bytes -= x->events[0].len;
        x->mcp->kept_bytes -= x->events[0].len;
        free(x->events[0].text);
        x->n_kept--;
        memmove(x->events, x->events + 1, x->n_kept * sizeof *x->events);
}

static void exchange_free(struct exchange *x)
{
        while (x->n_kept > 0)
                drop_event(x);
        list_remove(&x->link);
        if (x->session)
                x->session->n_exchanges--;
        if (list_empty(&x->mcp->exchanges))
                uv_timer_stop(&x->mcp->tick);
        free(x->answers);
        free(x);
}

/* Frees the oldest events that no client may ask for again. */
static void keep_within(struct mcp *mcp)
{
        list_each (at, &mcp->exchanges, other) {
                struct exchange *x = list_entry(at, struct exchange, link);
                if (mcp->kept_bytes <= KEPT_BYTES)
                        return;
                if (x->ended && !x->call)
                        exchange_free(x);
        }
}

static void keep_event(struct exchange *x, const char *text, size_t len, bool last)
{
        while (x->n_kept > 0 && (x->n_kept == EVENTS_MAX || (!last && x->kept_bytes + len > EVENTS_BYTES)))
                drop_event(x);
        char *copy = malloc(len);
        if (!copy)
                return;
        memcpy(copy, text, len);
        x->events[x->n_kept++] = (struct event){copy, len, x->n_events};
        x->kept_bytes += len;
        x->mcp->kept_bytes += len;
}

/* ---- the stream ---- */

static void write_event(struct exchange *x, uint64_t number, const char *text, size_t len)
{
        struct http_request *request = x->call->request;
        char head[80];
        int n = 0;
        if (x->name[0])
                n = snprintf(head, sizeof head, "id: %s-%llu\n", x->name, (unsigned long long)number);
        http_stream_write(request, head, (size_t)n);
        http_stream_write(request, "data: ", 6);
        http_stream_write(request, text, len);
        http_stream_write(request, "\n\n", 2);
}

static void put_event(struct exchange *x, const char *text, size_t len, bool last)
{
        x->n_events++;
        if (x->name[0])
                keep_event(x, text, len, last);
        if (x->call)
                write_event(x, x->n_events, text, len);
}

static void mcp_exchange_on_gone(struct http_request *request, void *context);

static void mcp_exchange_attach(struct exchange *x, struct call *call)
{
        x->call = call;
        x->left_us = 0;
        sse_begin(&x->sse, call, false);
        http_on_gone(call->request, mcp_exchange_on_gone, x);
}

static void begin_stream(struct exchange *x)
{
        struct call *call = x->call;
        char prime[100];
        x->streams = true;
        if (x->session)
                id_make("", x->name);
        mcp_exchange_attach(x, call);
        if (!x->session || x->session->revision < MCP_2025_11_25)
                return; /* older clients treat every event as a message */
        /* From here on a client that loses the connection can resume. */
        int n = snprintf(prime, sizeof prime, "id: %s-0\nretry: %d\ndata: \n\n", x->name, RETRY_MS);
        http_stream_write(call->request, prime, (size_t)n);
}

static void detach(struct exchange *x)
{
        http_on_gone(x->call->request, NULL, NULL);
        sse_end(&x->sse);
        x->call = NULL;
}

static void cancel_all(struct exchange *x)
{
        /* The last one frees the exchange. */
        for (unsigned n = x->left; n > 0; n--) {
                struct list *first = x->requests.next;
                if (first == &x->requests)
                        return;
                mcp_cancel(list_entry(first, struct mcp_request, sibling));
        }
}

static void mcp_exchange_on_gone(struct http_request *request, void *context)
{
        struct exchange *x = context;
        (void)request;
        if (x->streams)
                sse_forget(&x->sse);
        x->call = NULL;
        if (x->ended) {
                if (!x->name[0])
                        exchange_free(x);
        } else if (x->name[0]) {
                x->left_us = clock_us();
        } else {
                cancel_all(x);
        }
}

/* ---- time ---- */

static void mcp_exchange_look_at(struct exchange *x, int64_t now)
{
        if (!x->streams && !x->batch && x->call && x->takes_events && now - x->begun_us > SOON_US)
                begin_stream(x);
        else if (x->ended && now - x->ended_us > KEEP_US)
                exchange_free(x);
        else if (!x->ended && x->left_us && now - x->left_us > BACK_US)
                cancel_all(x);
}

static void mcp_exchange_on_tick(uv_timer_t *timer)
{
        struct mcp *mcp = timer->data;
        int64_t now = clock_us();
        list_each (at, &mcp->exchanges, other)
                mcp_exchange_look_at(list_entry(at, struct exchange, link), now);
}

void exchanges_forget(struct mcp_session *session)
{
        list_each (at, &session->mcp->exchanges, other) {
                struct exchange *x = list_entry(at, struct exchange, link);
                if (x->session != session)
                        continue;
                if (x->call)
                        detach(x);
                exchange_free(x);
        }
}

/* ---- the end ---- */

static void answer_batch(struct exchange *x)
{
        struct http_request *request = x->call ? x->call->request : NULL;
        if (request) {
                http_on_gone(request, NULL, NULL);
                if (x->answers_len > 0) {
                        x->answers[x->answers_len - 1] = ']';
                        http_reply(request, 200, "application/json", x->answers, x->answers_len);
                } else {
                        http_reply(request, 202, NULL, NULL, 0);
                }
        }
        exchange_free(x);
}

static void add_to_batch(struct exchange *x, const char *text, size_t len)
{
        char *grown = realloc(x->answers, x->answers_len + len + 2);
        if (!grown)
                return;
        x->answers = grown;
        if (x->answers_len == 0)
                x->answers[x->answers_len++] = '[';
        memcpy(x->answers + x->answers_len, text, len);
        x->answers_len += len;
        x->answers[x->answers_len++] = ',';
}

/* No message will be sent: the answer is an empty stream. */
static void answer_nothing(struct exchange *x)
{
        if (x->call && !x->streams && x->takes_events) {
                sse_begin(&x->sse, x->call, false);
                detach(x);
        } else if (x->call && !x->streams) {
                http_on_gone(x->call->request, NULL, NULL);
                http_reply(x->call->request, 202, NULL, NULL, 0);
        } else if (x->call) {
                detach(x);
        }
        exchange_free(x);
}

static void answer_alone(struct exchange *x, int status, char *text, size_t len)
{
        if (!x->streams) {
                if (x->call) {
                        http_on_gone(x->call->request, NULL, NULL);
                        api_reply_text(x->call, status, text, len);
                } else {
                        free(text);
                }
                exchange_free(x);
                return;
        }
        put_event(x, text, len, true);
        free(text);
        if (x->call)
                detach(x);
        x->ended = true;
        x->ended_us = clock_us();
        if (!x->name[0])
                exchange_free(x);
        else
                keep_within(x->mcp);
}

void exchange_answer(struct exchange *x, char *text, size_t len)
{
        if (text)
                add_to_batch(x, text, len);
        free(text);
        if (--x->left == 0)
                answer_batch(x);
}

static void mcp_exchange_on_end(struct mcp_request *request, int status, char *text, size_t len)
{
        struct exchange *x = request->transport;
        if (x->batch) {
                exchange_answer(x, text, len);
                return;
        }
        x->left = 0;
        if (text)
                answer_alone(x, status, text, len);
        else
                answer_nothing(x);
}

/* ---- messages before the answer ---- */

static void on_send(struct mcp_request *request, const char *text, size_t len)
{
        struct exchange *x = request->transport;
        if (x->batch || !x->takes_events)
                return;
        if (!x->streams && x->call)
                begin_stream(x);
        if (x->streams)
                put_event(x, text, len, false);
}

static size_t mcp_exchange_on_room(const struct mcp_request *request)
{
        const struct exchange *x = request->transport;
        if (x->batch || !x->takes_events)
                return 0;
        return x->call && x->streams ? http_stream_room(x->call->request) : HTTP_STREAM_MAX;
}

const struct mcp_sink exchange_sink = {on_send, mcp_exchange_on_room, mcp_exchange_on_end};

/* ---- the beginning ---- */

struct exchange *exchange_new(struct mcp *mcp, struct call *call, struct mcp_session *session, unsigned batch)
{
        struct exchange *x = calloc(1, sizeof *x);
        if (!x)
                return NULL;
        x->mcp = mcp;
        x->session = session;
        x->call = call;
        x->batch = batch > 0;
        x->left = batch > 0 ? batch : 1;
        x->takes_events = api_wants_events(call);
        x->begun_us = clock_us();
        list_init(&x->requests);
        if (session)
                session->n_exchanges++;
        if (list_empty(&mcp->exchanges))
                uv_timer_start(&mcp->tick, mcp_exchange_on_tick, TICK_MS, TICK_MS);
        list_add(&mcp->exchanges, &x->link);
        http_on_gone(call->request, mcp_exchange_on_gone, x);
        return x;
}

void exchange_run(struct exchange *x, struct mcp_request *request)
{
        if (request) {
                list_add(&x->requests, &request->sibling);
                mcp_dispatch(request);
        } else if (x->batch) {
                exchange_answer(x, NULL, 0);
        } else {
                answer_nothing(x);
        }
}

/* ---- reconnection ---- */

int exchange_resume(struct mcp_session *session, struct call *call, const char *last)
{
        const char *dash = strrchr(last, '-');
        char *end = NULL;
        uint64_t number = dash ? strtoull(dash + 1, &end, 10) : 0;
        if (!dash || dash == last || !end || *end)
                return -ENOENT;
        list_each (at, &session->mcp->exchanges, other) {
                struct exchange *x = list_entry(at, struct exchange, link);
                size_t len = strlen(x->name);
                if (x->session != session || len == 0 || len != (size_t)(dash - last) ||
                    memcmp(x->name, last, len) != 0)
                        continue;
                if (x->call) /* the old connection may not have been recognised as dead yet */
                        detach(x);
                mcp_exchange_attach(x, call);
                for (unsigned i = 0; i < x->n_kept; i++)
                        if (x->events[i].number > number)
                                write_event(x, x->events[i].number, x->events[i].text, x->events[i].len);
                if (x->ended)
                        detach(x);
                return 0;
        }
        return -ENOENT;
}

void exchange_hang_up(struct mcp_request *request)
{
        struct exchange *x = request->transport;
        if (request->sink != &exchange_sink || x->batch || !x->call || !x->session)
                return;
        if (!x->streams)
                begin_stream(x);
        detach(x);
        x->left_us = clock_us();
}

const char *mcp_request_header(const struct mcp_request *request, const char *name)
{
        const struct exchange *x = request->transport;
        return request->sink == &exchange_sink && x->call ? http_header(x->call->request, name) : NULL;
}
