/* front/rest/files.h -- shared by files.c, files_stream.c and files_watch.c. */
#pragma once
#include "front/api.h"
#include "wire/init.h"

#define FILE_ETAG_SIZE 64

/* Differs for another file, and after each write. */
void file_etag(const struct init_stat *st, char ret[FILE_ETAG_SIZE]);
const char *file_type(uint32_t mode);
const char *file_path(struct call *call, const json_t *body, const char *name);
json_t *file_stat_to_json(const struct init_stat *st, const char *key, const char *name, size_t name_len);
void file_reply_stat(struct call *call, const char *path, int status);
void file_list(struct call *call, const char *path);
/* Answers with a stream of events, one for each change of the file or in the directory. */
void file_watch(struct call *call, const char *path, bool recursive);
