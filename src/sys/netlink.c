#include "sys/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "sys/file.h"
#include "sys/raw.h"

#define ANSWER_BYTES 8192 /* an error message repeats the request */

/* Reserves len bytes plus alignment, zeroed.  Returns NULL if the buffer is full. */
static void *room(struct netlink *n, size_t len)
{
        size_t aligned = NLMSG_ALIGN(len);
        if (n->full || aligned > sizeof n->data - n->len) {
                n->full = true;
                return NULL;
        }
        char *at = n->data + n->len;
        memset(at, 0, aligned);
        n->len += aligned;
        return at;
}

/* Updates the length of the current message, which is the last one in the buffer. */
static void grown(struct netlink *n)
{
        struct nlmsghdr *head = (struct nlmsghdr *)(n->data + n->message);
        head->nlmsg_len = (uint32_t)(n->len - n->message);
}

void netlink_begin(struct netlink *n, unsigned type, unsigned flags, const void *head, size_t len)
{
        size_t at = n->len;
        struct nlmsghdr *message = room(n, NLMSG_HDRLEN + len);
        if (!message)
                return;
        n->message = at;
        message->nlmsg_type = (uint16_t)type;
        message->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
        message->nlmsg_seq = (uint32_t)at + 1; /* any number, but unique in the buffer */
        memcpy((char *)message + NLMSG_HDRLEN, head, len);
        grown(n);
}

void netlink_put(struct netlink *n, unsigned type, const void *data, size_t len)
{
        struct nlattr *a = room(n, NLA_HDRLEN + len);
        if (!a)
                return;
        a->nla_type = (uint16_t)type;
        a->nla_len = (uint16_t)(NLA_HDRLEN + len);
        memcpy((char *)a + NLA_HDRLEN, data, len);
        grown(n);
}

void netlink_put_be32(struct netlink *n, unsigned type, uint32_t value)
{
        uint32_t swapped = htonl(value);
        netlink_put(n, type, &swapped, sizeof swapped);
}

void netlink_put_string(struct netlink *n, unsigned type, const char *text)
{
        netlink_put(n, type, text, strlen(text) + 1);
}

size_t netlink_open(struct netlink *n, unsigned type)
{
        size_t at = n->len;
        netlink_put(n, type | NLA_F_NESTED, "", 0);
        return at;
}

void netlink_close(struct netlink *n, size_t opened)
{
        if (!n->full)
                ((struct nlattr *)(n->data + opened))->nla_len = (uint16_t)(n->len - opened);
}

void netlink_want_answer(struct netlink *n)
{
        struct nlmsghdr *head = (struct nlmsghdr *)(n->data + n->message);
        if (!n->full)
                head->nlmsg_flags |= NLM_F_ACK;
}

/* Returns 1 if the data contains no acknowledgement, else its error code (0: success). */
static int read_answers(const char *data, size_t len)
{
        for (size_t at = 0; len - at >= NLMSG_HDRLEN;) {
                struct nlmsghdr head;
                struct nlmsgerr error;
                memcpy(&head, data + at, sizeof head);
                if (head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > len - at)
                        return -EPROTO;
                if (head.nlmsg_type == NLMSG_ERROR) {
                        if (head.nlmsg_len < NLMSG_HDRLEN + sizeof error)
                                return -EPROTO;
                        memcpy(&error, data + at + NLMSG_HDRLEN, sizeof error);
                        return error.error;
                }
                size_t step = NLMSG_ALIGN(head.nlmsg_len);
                at += step < len - at ? step : len - at;
        }
        return 1;
}

int netlink_send(struct netlink *n, int protocol)
{
        char answer[ANSWER_BYTES] __attribute__((aligned(4)));
        const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
        if (n->full)
                return -ENOBUFS;
        AUTO(sys_close)
        int fd = (int)sys_call3(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
        if (fd < 0)
                return fd;
        long r = sys_call6(SYS_sendto, fd, (long)n->data, (long)n->len, 0, (long)&kernel, sizeof kernel);
        if (r < 0)
                return (int)r;
        do {
                r = sys_call6(SYS_recvfrom, fd, (long)answer, sizeof answer, MSG_DONTWAIT, 0, 0);
                if (r < 0)
                        return r == -EAGAIN ? -EIO : (int)r; /* a missing answer is not a success */
                r = read_answers(answer, (size_t)r);
        } while (r == 1);
        return (int)r;
}
