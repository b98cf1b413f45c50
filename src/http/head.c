/* http/head.c -- refuses request heads that another HTTP parser might interpret differently.
 *
 * Behind a proxy, a head that two parsers interpret differently lets a client hide a second request in the
 * first (request smuggling).  libmicrohttpd 1.0 is strict about line ends and folded lines at the level
 * that server.c sets.  Older versions accept a bare LF, folded lines and headers without a name at every
 * level.  They parse in place: each CR, LF and colon becomes NUL, and names and values are pointers into
 * the received bytes.  So the head is well-formed if its parts are at the positions of a well-formed head
 * and have the same total length. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "http/internal.h"

struct head {
        const char *at; /* end of the last line that was checked, without its CR LF */
        bool in_place;  /* the parser keeps the received bytes in place */
        unsigned hosts;
        const char *host;
        const char *wrong;
};

static bool parses_in_place(void)
{
        return strncmp(MHD_get_version(), "0.", 2) == 0;
}

bool head_chunks_are_strict(void)
{
        return !parses_in_place();
}

/* A token of RFC 9110. */
static bool is_name(const char *name, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (!isalnum((unsigned char)name[i]) && (!name[i] || !strchr("!#$%&'*+-.^_`|~", name[i])))
                        return false;
        return len > 0;
}

static bool is_value(const char *value, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (((unsigned char)value[i] < ' ' && value[i] != '\t') || value[i] == 0x7f)
                        return false;
        return true;
}

/* Checks that the header directly follows the previous line: CR LF, name, colon, blanks, value. */
static bool is_next_line(const struct head *head, const char *name, size_t name_len, const char *value)
{
        const char *from = name + name_len + 1;
        if (head->at[0] || head->at[1] || name != head->at + 2 || value < from)
                return false;
        while (from < value && (*from == ' ' || *from == '\t'))
                from++;
        return from == value;
}

static enum MHD_Result check_header(void *cls, enum MHD_ValueKind kind, const char *name, size_t name_len,
                                    const char *value, size_t value_len)
{
        struct head *head = cls;
        (void)kind;
        if (!is_name(name, name_len))
                head->wrong = "the name of a header has a character that is not allowed";
        else if (!value || !is_value(value, value_len))
                head->wrong = "the value of a header has a control character";
        else if (head->in_place && !is_next_line(head, name, name_len, value))
                head->wrong = "a line of the header is folded, has no name or does not end in CR LF";
        else if (!strcasecmp(name, "Host") && ++head->hosts > 1)
                head->wrong = "there is more than one Host header";
        if (!strcasecmp(name, "Host"))
                head->host = value;
        head->at = value ? value + value_len : name;
        return head->wrong ? MHD_NO : MHD_YES;
}

const char *head_check(const struct http_request *request, const char *method, const char *version)
{
        struct MHD_Connection *mhd = request->connection->mhd;
        const union MHD_ConnectionInfo *size =
                MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
        struct head head = {.at = version + strlen(version), .in_place = parses_in_place()};
        if (head.in_place && version != request->target_end + 1)
                return "the target has a character that is not allowed";
        MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, check_header, &head);
        /* The rest is the end of the last line and the empty line. */
        if (!head.wrong && head.in_place && size && head.at + 4 != method + size->header_size)
                head.wrong = "a line of the header has no name or does not end in CR LF";
        /* A proxy uses the target; our check of host names (front/auth.c) uses the header. */
        if (!head.wrong && request->target->authority && head.host &&
            strcasecmp(request->target->authority, head.host) != 0)
                head.wrong = "the target and the Host header name different servers";
        return head.wrong;
}
