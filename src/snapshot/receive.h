/* snapshot/receive.h -- receives the release of a waiting program, without a libc. */
#pragma once
#include "snapshot/bare.h"
#include "snapshot/release.h"
#include "snapshot/template.h"

#define RECEIVE_EINTR (-4)
#define RECEIVE_ENOTSOCK (-88)
#define RECEIVE_RIGHTS 1             /* SCM_RIGHTS, of SOL_SOCKET */
#define RECEIVE_DUP_CLOEXEC 02000000 /* O_CLOEXEC */
#define RECEIVE_CLOEXEC 0x40000000   /* MSG_CMSG_CLOEXEC */

/* Kernel structures on 64-bit machines. */
struct receive_vector {
        void *base;
        uint64_t length;
};

struct receive_message {
        void *name;
        uint32_t name_length, pad;
        struct receive_vector *vectors;
        uint64_t n_vectors;
        void *control;
        uint64_t control_length;
        uint32_t flags, pad2;
};

struct receive_rights {
        uint64_t length;
        int32_t level, type;
        int32_t fds[4];
};

static inline int receive_all(void *data, size_t length)
{
        char *to = data;
        while (length > 0) {
                long n = sys_call3(SYS_read, SNAPSHOT_CONTROL_FD, to, length);
                if (n == RECEIVE_EINTR)
                        continue;
                if (n <= 0)
                        return -1;
                to += n;
                length -= (size_t)n;
        }
        return 0;
}

/* Reports that the program is waiting. */
static inline int receive_ready(void)
{
        struct release_ready ready = {.ready = RELEASE_READY};
        struct {
                int64_t s, ns;
        } cpu = {0, 0};
        sys_call2(SYS_clock_gettime, 2, &cpu); /* CLOCK_PROCESS_CPUTIME_ID */
        ready.cpu_us = (uint64_t)(cpu.s * 1000000 + cpu.ns / 1000);
        if (sys_call3(SYS_write, SNAPSHOT_CONTROL_FD, &ready, sizeof ready) != sizeof ready)
                return -1;
        return 0;
}

/* Receives the head and, if there are any, the descriptors for 0, 1 and 2. */
static inline int receive_release(struct release_head *ret)
{
        struct receive_rights rights = {0};
        struct receive_vector vector = {ret, sizeof *ret};
        struct receive_message message = {
                .vectors = &vector, .n_vectors = 1, .control = &rights, .control_length = sizeof rights};
        long n;
        do {
                n = sys_call3(SYS_recvmsg, SNAPSHOT_CONTROL_FD, &message, RECEIVE_CLOEXEC);
        } while (n == RECEIVE_EINTR);
        if (n == RECEIVE_ENOTSOCK) /* a file: the descriptors are in place from the start */
                n = 0;
        else if (n == 0)
                return -1;
        if (n < 0 || receive_all((char *)ret + n, sizeof *ret - (size_t)n) < 0)
                return -1;
        if (message.control_length >= 28 && rights.type == RECEIVE_RIGHTS)
                for (int i = 0; i < 3; i++) {
                        /* Keep the close-on-exec flag that the program may have set. */
                        long flags = sys_call3(SYS_fcntl, i, 1, 0); /* F_GETFD */
                        if (sys_call3(SYS_dup3, rights.fds[i], i, flags == 1 ? RECEIVE_DUP_CLOEXEC : 0) < 0)
                                return -1;
                        sys_call1(SYS_close, rights.fds[i]);
                }
        if (ret->mode == RELEASE_SOON)
                return 0;
        return ret->length > RELEASE_MAX || ret->code_length > ret->length ? -1 : 0;
}
