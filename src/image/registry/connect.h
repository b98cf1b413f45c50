/* image/registry/connect.h -- starts and ends a session with a registry, and gets documents in it. */
#pragma once
#include "base/auto.h"
#include "image/registry/session.h"

struct imager_job;

/* Finds the address and the protocol of the registry, and authenticates. */
int registry_session_new(struct imager_job *job, const struct reference *reference,
                         const struct download_rules *rules, const struct credentials *credentials,
                         struct session **ret, struct cella_err *err);
struct session *session_free(struct session *s);
DEFINE_AUTO(struct session *, session_free)

/* Gets the document at a path, at most `max` bytes.  head: only its headers, with one attempt.  what: for
 * messages. */
int session_get(struct session *s, const char *path, const char *what, const char *accept, size_t max,
                bool head, struct document *ret, struct cella_err *err);
