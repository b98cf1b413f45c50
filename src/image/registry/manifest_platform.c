/* image/registry/manifest_platform.c -- operating systems and processors as manifests name them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "image/registry/manifest.h"

static bool is_part(const char *text, size_t len, size_t size)
{
        if (len == 0 || len >= size)
                return false;
        for (size_t i = 0; i < len; i++)
                if (!(text[i] >= 'a' && text[i] <= 'z') && !(text[i] >= '0' && text[i] <= '9') &&
                    text[i] != '.' && text[i] != '_' && text[i] != '-')
                        return false;
        return true;
}

int platform_parse(const char *text, struct platform *ret, struct cella_err *err)
{
        struct platform p = {0};
        char *const parts[] = {p.os, p.architecture, p.variant};
        size_t n = 0;
        for (const char *at = text;; n++) {
                size_t len = strcspn(at, "/");
                if (n == ARRAY_LEN(parts) || !is_part(at, len, sizeof p.os))
                        break;
                memcpy(parts[n], at, len);
                if (at[len] == '\0' && n > 0) {
                        *ret = p;
                        return 0;
                }
                if (at[len] == '\0')
                        break;
                at += len + 1;
        }
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "'%.60s' is not a platform", text);
        err_hint(err, "OS/ARCHITECTURE[/VARIANT], such as linux/amd64 or linux/arm64");
        return -EINVAL;
}

void platform_of_this_machine(struct platform *ret)
{
#if defined(__x86_64__)
        *ret = (struct platform){.os = "linux", .architecture = "amd64"};
#elif defined(__aarch64__)
        *ret = (struct platform){.os = "linux", .architecture = "arm64"};
#else
#error "cella runs on x86-64 and aarch64"
#endif
}

void platform_write(const struct platform *p, char ret[MANIFEST_PLATFORM_SIZE])
{
        snprintf(ret, MANIFEST_PLATFORM_SIZE, "%s/%s%s%s", p->os, p->architecture, p->variant[0] ? "/" : "",
                 p->variant);
}

/* The default variant is treated as no variant. */
static const char *variant(const struct platform *p)
{
        if (strcmp(p->architecture, "arm64") == 0 && strcmp(p->variant, "v8") == 0)
                return "";
        if (strcmp(p->architecture, "amd64") == 0 && strcmp(p->variant, "v1") == 0)
                return "";
        if (strcmp(p->architecture, "arm") == 0 && p->variant[0] == '\0')
                return "v7";
        return p->variant;
}

/* Some lists use the kernel's names of processors. */
static const char *architecture(const struct platform *p)
{
        if (strcmp(p->architecture, "x86_64") == 0)
                return "amd64";
        return strcmp(p->architecture, "aarch64") == 0 ? "arm64" : p->architecture;
}

bool platform_equal(const struct platform *a, const struct platform *b)
{
        return strcmp(a->os, b->os) == 0 && strcmp(architecture(a), architecture(b)) == 0 &&
               strcmp(variant(a), variant(b)) == 0;
}
