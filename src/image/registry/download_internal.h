/* image/registry/download_internal.h -- shared by the files of download.h. */
#pragma once
#include <curl/curl.h>

#include "base/list.h"
#include "image/registry/download_types.h"

struct imager_job;

struct downloads {
        CURLM *multi;
        struct imager_job *job;
        struct download_rules rules;
        struct list under_way;
};

/* Returns whether the URL is the registry itself and the registry may have invalid TLS. */
bool download_is_insecure(const struct download_rules *rules, const char *url);

struct transfer {
        struct download public;
        struct downloads *all;
        struct list entry;
        CURL *easy;
        struct curl_slist *headers;
        char curl_said[CURL_ERROR_SIZE];
        size_t header_bytes, said_len, unwanted;
        download_sink *sink;
        void *arg;
        int64_t window_us, deadline_us;
        uint64_t window_bytes;
        /* Why we stopped the download. */
        bool too_slow, big_headers, sink_failed, enough;
};

/* libcurl's callback: one line of the head. */
size_t download_on_header(char *line, size_t size, size_t n, void *arg);

/* Sets result, retry and err after the end of the download. */
void download_judge(struct transfer *t, CURLcode code);
