#include "engine/egress_config.h"

#include <fcntl.h>
#include <string.h>

#include "base/auto.h"
#include "sys/file.h"

/* None of a file that cannot be read. */
static size_t read_lines(const char *path, char *to, size_t size)
{
        AUTO(sys_close) int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
        size_t len = 0;
        ssize_t n;
        while (fd >= 0 && len < size && (n = sys_read(fd, to + len, size - len)) > 0)
                len += (size_t)n;
        if (len < size)
                return len;
        const char *end = memrchr(to, '\n', len);
        return end ? (size_t)(end - to) + 1 : 0;
}

size_t egress_config_fill(char packet[EGRESS_CONFIG_BYTES])
{
        char *text = packet + sizeof(struct egress_config);
        size_t resolv = read_lines("/etc/resolv.conf", text, EGRESS_CONFIG_MAX / 2);
        size_t hosts = read_lines("/etc/hosts", text + resolv, EGRESS_CONFIG_MAX - resolv);
        const struct egress_config head = {
                .type = EGRESS_CONFIG, .resolv_length = (uint32_t)resolv, .hosts_length = (uint32_t)hosts};
        memcpy(packet, &head, sizeof head);
        return sizeof head + resolv + hosts;
}
