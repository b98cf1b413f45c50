/* The stream of an archive: its threads must not depend on objects that the caller may have released. */
#include "image/unpack/stream.h"

#include "test.h"

static void no_progress(struct imager_job *job, const char *layer, const char *phase, uint64_t done,
                        uint64_t total)
{
        (void)job;
        (void)layer;
        (void)phase;
        (void)done;
        (void)total;
}

static struct imager_job job = {.archive = -1, .store = -1, .progress = no_progress};

/* stream_open() once kept a pointer to the caller's struct, which was released before the decoder thread had
 * ended (found by fuzzing: test/fuzz/seeds/image_archive/source_scope). */
TEST(the_source_description_may_be_released_after_open)
{
        struct cella_err err = {0};
        struct stream *s = NULL;
        const void *data = NULL;
        int ends[2];
        CHECK_INT(pipe(ends), 0);
        struct layer_source source = {.fd = ends[0]};
        CHECK_INT(stream_open(&job, &source, 1 << 20, &s, &err), 0);
        memset(&source, 0xff, sizeof source); /* now fd is -1, and read is no function */
        CHECK_INT(write(ends[1], "content", 7), 7);
        close(ends[1]);
        CHECK_INT(stream_next(s, &data), 7);
        CHECK(data && memcmp(data, "content", 7) == 0);
        stream_close(s);
        close(ends[0]);
}

TEST(a_stream_can_be_closed_while_its_thread_waits_for_bytes)
{
        struct cella_err err = {0};
        struct stream *s = NULL;
        int ends[2];
        CHECK_INT(pipe(ends), 0);
        struct layer_source source = {.fd = ends[0]};
        CHECK_INT(stream_open(&job, &source, 1 << 20, &s, &err), 0);
        stream_close(s); /* joins: it would hang if the thread did not look for the request to stop */
        close(ends[0]);
        close(ends[1]);
}
